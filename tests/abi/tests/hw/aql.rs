// SPDX-License-Identifier: MIT OR Apache-2.0

//! AQL packets, queues and signals, of HSA's headers.

use crate::compare;
use rkfd_abi_test::{hsa, includes, Probe};
use rkfd_hw::aql;

#[test]
fn aql_packets_and_signals_are_hsa_s() {
    let headers = ["hsa/hsa.h", "hsa/hsa_ext_amd.h", "hsa/amd_hsa_signal.h"];
    let flags = includes(&hsa(), &["", "hsa"]);
    let fields = compare(Probe::new(&headers, &flags), &[aql::LAYOUTS]);
    assert!(fields >= 45);

    let mut probe = Probe::new(&headers, &flags);
    let header = |packet_type, barrier, acquire, release| {
        u64::from(
            aql::Header {
                packet_type,
                barrier,
                acquire,
                release,
            }
            .bits(),
        )
    };
    let cases = [
        (
            u64::from(aql::TYPE_VENDOR_SPECIFIC),
            "HSA_PACKET_TYPE_VENDOR_SPECIFIC",
        ),
        (u64::from(aql::TYPE_INVALID), "HSA_PACKET_TYPE_INVALID"),
        (
            u64::from(aql::TYPE_KERNEL_DISPATCH),
            "HSA_PACKET_TYPE_KERNEL_DISPATCH",
        ),
        (
            u64::from(aql::TYPE_BARRIER_AND),
            "HSA_PACKET_TYPE_BARRIER_AND",
        ),
        (
            u64::from(aql::TYPE_AGENT_DISPATCH),
            "HSA_PACKET_TYPE_AGENT_DISPATCH",
        ),
        (
            u64::from(aql::TYPE_BARRIER_OR),
            "HSA_PACKET_TYPE_BARRIER_OR",
        ),
        (
            u64::from(aql::VENDOR_BARRIER_VALUE),
            "HSA_AMD_PACKET_TYPE_BARRIER_VALUE",
        ),
        (u64::from(aql::CONDITION_EQ), "HSA_SIGNAL_CONDITION_EQ"),
        (u64::from(aql::CONDITION_NE), "HSA_SIGNAL_CONDITION_NE"),
        (u64::from(aql::CONDITION_LT), "HSA_SIGNAL_CONDITION_LT"),
        (u64::from(aql::CONDITION_GTE), "HSA_SIGNAL_CONDITION_GTE"),
        (u64::from(aql::FENCE_AGENT), "HSA_FENCE_SCOPE_AGENT"),
        (u64::from(aql::FENCE_SYSTEM), "HSA_FENCE_SCOPE_SYSTEM"),
        (header(0, true, 0, 0), "1 << HSA_PACKET_HEADER_BARRIER"),
        (
            header(0, false, 1, 0),
            "1 << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE",
        ),
        (
            header(0, false, 2, 0),
            "2 << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE",
        ),
        (
            header(0, false, 0, 2),
            "2 << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE",
        ),
        (aql::SIGNAL_KIND_USER as u64, "AMD_SIGNAL_KIND_USER"),
        (
            aql::SIGNAL_KIND_DOORBELL as u64,
            "(long long)AMD_SIGNAL_KIND_DOORBELL",
        ),
    ];
    for (_, c) in cases {
        probe.value(c);
    }
    for ((value, c), answer) in cases.iter().zip(probe.run()) {
        assert_eq!(answer.bit, *value, "{c}");
    }
}
