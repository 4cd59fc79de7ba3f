// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a field of a request is for: this decides which values are tried.

use crate::table::{Entry, Node};

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The id of a GPU.
    Gpu,
    /// The handle of a buffer object.
    Handle,
    /// A GPU virtual address.
    Va,
    /// Bytes.
    Size,
    /// The id of an event.
    Event,
    /// The id of a queue.
    Queue,
    /// A file descriptor.
    Fd,
    /// A GEM handle.
    Gem,
    /// The handle of a synchronisation object.
    Syncobj,
    /// The address of handles of synchronisation objects.
    Syncobjs,
    /// An address of the program's own memory.
    Pointer,
    /// Bits.
    Flags,
    /// How many elements an array has.
    Count,
    /// Milliseconds.
    Timeout,
    /// The number of a process.
    Pid,
    /// One of a few numbers.
    Small,
    /// Filled by the driver, or padding.
    Out,
}

/// The role of a field by its name; the names of `uapi/` are used the same way in all structures of a node.
pub fn of(entry: &Entry, field: &str) -> Option<Role> {
    match entry.node {
        Node::Kfd => of_kfd(field),
        Node::Render => of_render(entry, field),
    }
}

fn of_render(entry: &Entry, field: &str) -> Option<Role> {
    Some(match field {
        "handle" | "src_handle" | "dst_handle" if entry.is_of_syncobj() => Role::Syncobj,
        "handle" | "addr_ptr" => Role::Gem,
        "vm_timeline_syncobj_out" => Role::Syncobj,
        "handles" | "input_fence_syncobj_handles" => Role::Syncobjs,
        "fd" => Role::Fd,
        "va_address" => Role::Va,
        "bo_size" | "size" | "offset_in_bo" | "map_size" | "return_size" => Role::Size,
        "flags" | "domains" | "domain_flags" | "tiling_info" => Role::Flags,
        "count_handles"
        | "num_syncobj_handles"
        | "num_entries"
        | "name_len"
        | "date_len"
        | "desc_len" => Role::Count,
        "points" | "value" | "return_pointer" | "name" | "date" | "desc" | "addr" | "entries" => {
            Role::Pointer
        }
        "timeout" | "timeout_nsec" | "deadline_nsec" => Role::Timeout,
        "op" | "operation" | "alignment" | "point" | "src_point" | "dst_point" | "query"
        | "capability" | "data_size_bytes" | "vm_timeline_point" | "of" => Role::Small,
        "pad" | "_pad" | "padding" | "data" | "first_signaled" | "version_major"
        | "version_minor" | "version_patchlevel" => Role::Out,
        _ => return None,
    })
}

fn of_kfd(field: &str) -> Option<Role> {
    Some(match field {
        "gpu_id" | "gpuid" => Role::Gpu,
        "handle" | "event_page_offset" => Role::Handle,
        "va_addr"
        | "ring_base_address"
        | "write_pointer_address"
        | "read_pointer_address"
        | "eop_buffer_address"
        | "ctx_save_restore_address"
        | "tba_addr"
        | "tma_addr"
        | "start_addr"
        | "alternate_aperture_base" => Role::Va,
        "size"
        | "ring_size"
        | "eop_buffer_size"
        | "ctx_save_restore_size"
        | "ctl_stack_size"
        | "metadata_ring_size"
        | "metadata_size"
        | "alternate_aperture_size"
        | "priv_data_size" => Role::Size,
        "event_id" => Role::Event,
        "queue_id" => Role::Queue,
        "drm_fd" | "dmabuf_fd" => Role::Fd,
        "mmap_offset"
        | "events_ptr"
        | "device_ids_array_ptr"
        | "cu_mask_ptr"
        | "ctl_stack_address"
        | "metadata_ptr"
        | "kfd_process_device_apertures_ptr"
        | "tile_config_ptr"
        | "macro_tile_config_ptr"
        | "devices"
        | "bos"
        | "priv_data"
        | "r_debug"
        | "content_ptr" => Role::Pointer,
        "flags" | "capabilities_mask" | "mode_mask" | "misc_process_flag" => Role::Flags,
        "num_events"
        | "n_devices"
        | "n_success"
        | "num_cu_mask"
        | "num_of_nodes"
        | "num_tile_configs"
        | "num_macro_tile_configs"
        | "nattr"
        | "num_devices"
        | "num_bos"
        | "num_objects"
        | "num_gws" => Role::Count,
        "timeout" => Role::Timeout,
        "pid" => Role::Pid,
        "queue_type" | "queue_percentage" | "queue_priority" | "sdma_engine_id"
        | "default_policy" | "alternate_policy" | "event_type" | "auto_reset" | "node_id"
        | "wait_for_all" | "op" | "xnack_enabled" | "buf_size_in_bytes" => Role::Small,
        "pad"
        | "data"
        | "payload"
        | "anon_fd"
        | "available"
        | "doorbell_offset"
        | "event_trigger_data"
        | "event_slot_index"
        | "wait_result"
        | "process_apertures"
        | "gb_addr_config"
        | "num_banks"
        | "num_ranks"
        | "gpu_clock_counter"
        | "cpu_clock_counter"
        | "system_clock_counter"
        | "system_clock_freq"
        | "ctl_stack_used_size"
        | "save_area_used_size"
        | "first_gws"
        | "major_version"
        | "minor_version" => Role::Out,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::table;

    /// A field that is added to a request has to be given a role.
    #[test]
    fn every_field_of_every_request_has_a_role() {
        let mut without = Vec::new();
        for request in table::all() {
            for field in request.fields {
                if super::of(&request, field.name).is_none() {
                    without.push(format!("{}: {}", request.info.name, field.name));
                }
            }
        }
        assert!(without.is_empty(), "{without:#?}");
    }
}
