/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the driver: events/rkfd/ in tracefs, for perf, bpftrace and trace-cmd.
 *
 * What each one tells stands beside its function in trace.rs.
 */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM rkfd

#if !defined(RKFD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RKFD_TRACE_H

#include <linux/tracepoint.h>
#include <linux/types.h>

DECLARE_EVENT_CLASS(rkfd_ioctl,
	TP_PROTO(u32 number, int error, const u8 *bytes, size_t len),
	TP_ARGS(number, error, bytes, len),
	TP_STRUCT__entry(
		__field(u32, number)
		__field(int, error)
		__dynamic_array(u8, argument, len)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->error = error;
		memcpy(__get_dynamic_array(argument), bytes, len);
	),
	TP_printk("number=%#x error=%d argument=%s", __entry->number, __entry->error,
		  __print_hex_str(__get_dynamic_array(argument),
				  __get_dynamic_array_len(argument)))
);

DEFINE_EVENT(rkfd_ioctl, rkfd_ioctl_enter,
	TP_PROTO(u32 number, int error, const u8 *bytes, size_t len),
	TP_ARGS(number, error, bytes, len)
);

DEFINE_EVENT(rkfd_ioctl, rkfd_ioctl_exit,
	TP_PROTO(u32 number, int error, const u8 *bytes, size_t len),
	TP_ARGS(number, error, bytes, len)
);

TRACE_EVENT(rkfd_queue,
	TP_PROTO(u32 pasid, u32 doorbell, u64 mqd, u32 state),
	TP_ARGS(pasid, doorbell, mqd, state),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(u32, doorbell)
		__field(u64, mqd)
		__field(u32, state)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->doorbell = doorbell;
		__entry->mqd = mqd;
		__entry->state = state;
	),
	TP_printk("pasid=%u doorbell=%u mqd=%#llx state=%s",
		  __entry->pasid, __entry->doorbell, __entry->mqd,
		  __print_symbolic(__entry->state, { 0, "created" }, { 1, "mapped" },
				   { 2, "disabled" }, { 3, "evicted" }, { 4, "hung" },
				   { 5, "gone" }))
);

TRACE_EVENT(rkfd_mqd,
	TP_PROTO(u32 pasid, u32 doorbell, u64 mqd, bool fresh),
	TP_ARGS(pasid, doorbell, mqd, fresh),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(u32, doorbell)
		__field(u64, mqd)
		__field(bool, fresh)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->doorbell = doorbell;
		__entry->mqd = mqd;
		__entry->fresh = fresh;
	),
	TP_printk("pasid=%u doorbell=%u mqd=%#llx fresh=%d",
		  __entry->pasid, __entry->doorbell, __entry->mqd, __entry->fresh)
);

TRACE_EVENT(rkfd_run_list,
	TP_PROTO(u64 address, u32 words, u32 processes, u32 queues, bool over),
	TP_ARGS(address, words, processes, queues, over),
	TP_STRUCT__entry(
		__field(u64, address)
		__field(u32, words)
		__field(u32, processes)
		__field(u32, queues)
		__field(bool, over)
	),
	TP_fast_assign(
		__entry->address = address;
		__entry->words = words;
		__entry->processes = processes;
		__entry->queues = queues;
		__entry->over = over;
	),
	TP_printk("address=%#llx words=%u processes=%u queues=%u over=%d",
		  __entry->address, __entry->words, __entry->processes,
		  __entry->queues, __entry->over)
);

TRACE_EVENT(rkfd_packet,
	TP_PROTO(u32 doorbell, const u32 *words, size_t len),
	TP_ARGS(doorbell, words, len),
	TP_STRUCT__entry(
		__field(u32, doorbell)
		__dynamic_array(u32, words, len)
	),
	TP_fast_assign(
		__entry->doorbell = doorbell;
		memcpy(__get_dynamic_array(words), words, len * sizeof(u32));
	),
	TP_printk("doorbell=%u words=%s", __entry->doorbell,
		  __print_array(__get_dynamic_array(words),
				__get_dynamic_array_len(words) / sizeof(u32), sizeof(u32)))
);

TRACE_EVENT(rkfd_doorbell,
	TP_PROTO(u32 doorbell, u64 value),
	TP_ARGS(doorbell, value),
	TP_STRUCT__entry(
		__field(u32, doorbell)
		__field(u64, value)
	),
	TP_fast_assign(
		__entry->doorbell = doorbell;
		__entry->value = value;
	),
	TP_printk("doorbell=%u value=%#llx",
		  __entry->doorbell, __entry->value)
);

TRACE_EVENT(rkfd_tlb_flush,
	TP_PROTO(u32 pasid, u32 vmid, u32 kind),
	TP_ARGS(pasid, vmid, kind),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(u32, vmid)
		__field(u32, kind)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->vmid = vmid;
		__entry->kind = kind;
	),
	TP_printk("pasid=%u vmid=%u kind=%u",
		  __entry->pasid, __entry->vmid, __entry->kind)
);

TRACE_EVENT(rkfd_ih_entry,
	TP_PROTO(const u32 *words),
	TP_ARGS(words),
	TP_STRUCT__entry(
		__array(u32, words, 8)
	),
	TP_fast_assign(
		memcpy(__entry->words, words, sizeof(__entry->words));
	),
	TP_printk("client=%u source=%u ring=%u vmid=%u pasid=%u data=%#x,%#x,%#x,%#x time=%llu",
		  __entry->words[0] & 0xff, (__entry->words[0] >> 8) & 0xff,
		  (__entry->words[0] >> 16) & 0xff, (__entry->words[0] >> 24) & 0xf,
		  __entry->words[3] & 0xffff, __entry->words[4], __entry->words[5],
		  __entry->words[6], __entry->words[7],
		  __entry->words[1] | (u64)(__entry->words[2] & 0xffff) << 32)
);

TRACE_EVENT(rkfd_signal,
	TP_PROTO(u32 pasid, u32 event, u32 bits),
	TP_ARGS(pasid, event, bits),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(u32, event)
		__field(u32, bits)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->event = event;
		__entry->bits = bits;
	),
	TP_printk("pasid=%u event=%u bits=%u",
		  __entry->pasid, __entry->event, __entry->bits)
);

TRACE_EVENT(rkfd_evict,
	TP_PROTO(u32 pasid, int change),
	TP_ARGS(pasid, change),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(int, change)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->change = change;
	),
	TP_printk("pasid=%u change=%d",
		  __entry->pasid, __entry->change)
);

TRACE_EVENT(rkfd_fault,
	TP_PROTO(u32 pasid, u64 address, bool not_present, bool write, bool execute),
	TP_ARGS(pasid, address, not_present, write, execute),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(u64, address)
		__field(bool, not_present)
		__field(bool, write)
		__field(bool, execute)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->address = address;
		__entry->not_present = not_present;
		__entry->write = write;
		__entry->execute = execute;
	),
	TP_printk("pasid=%u address=%#llx not_present=%d write=%d execute=%d",
		  __entry->pasid, __entry->address, __entry->not_present,
		  __entry->write, __entry->execute)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE rkfd_trace
#include <trace/define_trace.h>
