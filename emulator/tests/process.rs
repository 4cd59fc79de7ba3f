// SPDX-License-Identifier: MIT OR Apache-2.0

//! The process as QEMU meets it: started by its command line, spoken to by vfio-user.

use rkfd_emulator::memory::host::Mapping;
use rustix::event::{eventfd, EventfdFlags};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use vfio_user::Client;

const VRAM_MIB: u64 = 256;
const BAR5: u32 = 5;
const CONFIG: u32 = 7;
const MSI: u32 = 1;
/// `VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER`.
const EVENT: u32 = (1 << 2) | (1 << 5);

static RUNS: AtomicU32 = AtomicU32::new(0);

struct Run {
    child: Child,
    dir: PathBuf,
}

impl Run {
    fn start(args: &[&str]) -> Self {
        Self::of("mi308x", args)
    }

    fn of(chip: &str, args: &[&str]) -> Self {
        let n = RUNS.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("rkfd-emulator-{}-{n}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_rkfd-emulator"))
            .args(["--chip", chip, "--vram-mib", &VRAM_MIB.to_string()])
            .arg("--socket")
            .arg(dir.join("gpu.sock"))
            .arg("--report")
            .arg(dir.join("report"))
            .arg("--trace")
            .arg(dir.join("trace"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        Self { child, dir }
    }

    fn connect(&self) -> Client {
        Client::new(&self.dir.join("gpu.sock")).unwrap()
    }

    /// Exit status and report.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, fs::read_to_string(self.dir.join("report")).unwrap())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn read(client: &mut Client, region: u32, offset: u64) -> u32 {
    let mut bytes = [0; 4];
    client.region_read(region, offset, &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

fn write(client: &mut Client, region: u32, offset: u64, value: u32) {
    client
        .region_write(region, offset, &value.to_le_bytes())
        .unwrap();
}

/// A BAR's memory, mapped as QEMU maps it.
fn map(client: &Client, region: u32, size: u64) -> Mapping {
    let region = client.region(region).unwrap();
    assert_eq!(region.size, size);
    let [area] = region.sparse_areas[..] else {
        panic!("one area of {region:?}")
    };
    assert_eq!((area.offset, area.size), (0, size));
    let file = region.file_offset.as_ref().unwrap();
    assert_eq!(file.start(), 0);
    Mapping::file(file.file().try_clone().unwrap(), size).unwrap()
}

#[test]
fn a_client_finds_the_chip_and_its_memory() {
    let run = Run::start(&[]);
    let mut client = run.connect();
    assert_eq!(read(&mut client, CONFIG, 0), 0x74a2_1002);
    assert_eq!(read(&mut client, CONFIG, 8) >> 8, 0x12_0000);
    assert_eq!(client.get_irq_info(MSI).unwrap().count, 1);
    assert_eq!(client.get_irq_info(0).unwrap().count, 0, "no INTx");
    assert_eq!(client.region(BAR5).unwrap().size, 512 << 10);
    assert!(client.region(BAR5).unwrap().sparse_areas.is_empty());
    assert_eq!(read(&mut client, BAR5, 0xde3 * 4), VRAM_MIB as u32);
    // VRAM is one memory, whether mapped or not, and ends with the discovery binary.
    let vram = map(&client, 0, VRAM_MIB << 20);
    assert_eq!(
        read(&mut client, 0, (VRAM_MIB << 20) - (64 << 10)),
        0x2821_1407
    );
    vram.part(0x1000, 4)
        .unwrap()
        .u32(0)
        .unwrap()
        .store(0xcafe, Ordering::SeqCst);
    assert_eq!(read(&mut client, 0, 0x1000), 0xcafe);
    write(&mut client, 0, 0x1004, 0xbeef);
    assert_eq!(
        vram.part(0x1004, 4)
            .unwrap()
            .u32(0)
            .unwrap()
            .load(Ordering::SeqCst),
        0xbeef
    );
    map(&client, 2, 2 << 20);
    client.shutdown().unwrap();
    let (code, report) = run.end();
    assert_eq!(
        (code, report.as_str()),
        (Some(0), "end violations=0 faults=0\n")
    );
}

#[test]
fn the_device_reaches_guest_ram_and_interrupts() {
    let run = Run::start(&[]);
    let mut client = run.connect();
    let ram = Mapping::anonymous("ram", 1 << 20).unwrap();
    client
        .dma_map(0, 0x1_0000_0000, 1 << 20, ram.fd().unwrap().as_raw_fd())
        .unwrap();
    let event = File::from(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).unwrap());
    client
        .set_irqs(MSI, EVENT, 0, 1, &[event.as_raw_fd()])
        .unwrap();
    // Memory and bus mastering on.
    client.region_write(CONFIG, 4, &6u16.to_le_bytes()).unwrap();
    // A ring of 4 KiB at 0x1_0000_0000. The write pointer is put ahead of the read pointer by hand,
    // and a read pointer that does not catch up makes the handler send its message again.
    let ih = |n: u64| (0x10a0 + n) * 4;
    write(&mut client, BAR5, ih(0x18d), 1 << 4);
    write(&mut client, BAR5, ih(0x81), 0x0100_0000);
    write(
        &mut client,
        BAR5,
        ih(0x80),
        1 | (10 << 1) | (1 << 17) | (1 << 21) | (1 << 28),
    );
    write(&mut client, BAR5, ih(0x84), 64);
    write(&mut client, BAR5, ih(0x83), 32);
    let mut count = [0; 8];
    (&event).read_exact(&mut count).unwrap();
    assert_eq!(u64::from_ne_bytes(count), 1);
    // A vector that is taken away is not used any more.
    client.set_irqs(MSI, 1 << 5, 0, 0, &[]).unwrap();
    write(&mut client, BAR5, ih(0x83), 32);
    assert!((&event).read_exact(&mut count).is_err());
    client.dma_unmap(0x1_0000_0000, 1 << 20).unwrap();
    client.shutdown().unwrap();
    let (code, report) = run.end();
    assert_eq!(
        (code, report.as_str()),
        (Some(0), "end violations=0 faults=0\n")
    );
}

#[test]
fn what_programs_do_is_reported_and_fails_no_run() {
    let run = Run::start(&[]);
    let mut client = run.connect();
    // `nbio_v7_9_remap_hdp_registers`, and the page as a program may have mapped it.
    let page = 0x1a000;
    for (n, at) in [0xe4d, 0xe4e].into_iter().zip([page, page + 4]) {
        write(&mut client, BAR5, n * 4, at as u32);
    }
    write(&mut client, BAR5, page, 1);
    assert_eq!(read(&mut client, BAR5, page), 0);
    let mut wide = [1; 8];
    client.region_read(BAR5, page, &mut wide).unwrap();
    assert_eq!(wide, [0; 8]);
    client.region_write(BAR5, page + 2, &[0; 2]).unwrap();
    assert_eq!(read(&mut client, BAR5, page + 0x20), 0);
    client.shutdown().unwrap();
    let (code, report) = run.end();
    assert_eq!(
        (code, report.as_str()),
        (
            Some(0),
            "fault 1 read of 8 bytes in the page of HDP flushes, whose registers have 4\n\
             fault 1 write of 2 bytes in the page of HDP flushes, whose registers have 4\n\
             fault 1 read of a word in the page of HDP flushes that is none of them\n\
             end violations=0 faults=3\n"
        )
    );
}

#[test]
fn what_is_not_defined_is_reported_and_fails_the_run() {
    let run = Run::start(&[]);
    let mut client = run.connect();
    for _ in 0..3 {
        assert_eq!(read(&mut client, BAR5, 0x7fff0), 0);
    }
    let mut narrow = [0; 2];
    client.region_read(BAR5, 0xde3 * 4, &mut narrow).unwrap();
    assert_eq!(narrow, [0xff; 2]);
    client.region_write(BAR5, 0xde3 * 4, &[0; 8]).unwrap();
    let mut beyond = [0; 4];
    client.region_read(0, VRAM_MIB << 20, &mut beyond).unwrap();
    assert_eq!(beyond, [0xff; 4]);
    client.shutdown().unwrap();
    let (code, report) = run.end();
    assert_eq!(code, Some(1));
    assert_eq!(
        report,
        "violation 3 read of unknown register at 0x7fff0 (word 0x1fffc)\n\
         violation 1 read of 2 bytes at 0x378c of region 5\n\
         violation 1 write of 8 bytes at 0x378c of region 5\n\
         violation 1 read of 4 bytes at 0x10000000 of region 0\n\
         end violations=6 faults=0\n"
    );
}

#[test]
fn reset_and_flr_restore_the_start() {
    let run = Run::start(&[]);
    let mut client = run.connect();
    let scratch = (0x14000 + 0xb60) * 4;
    for flr in [false, true] {
        write(&mut client, BAR5, scratch, 0x1234);
        client.region_write(CONFIG, 4, &6u16.to_le_bytes()).unwrap();
        assert_eq!(read(&mut client, BAR5, scratch), 0x1234);
        assert_eq!(read(&mut client, CONFIG, 4) & 0xffff, 6);
        if flr {
            client
                .region_write(CONFIG, 0x6c, &0xa810u16.to_le_bytes())
                .unwrap();
        } else {
            client.reset().unwrap();
        }
        assert_eq!(read(&mut client, BAR5, scratch), 0);
        assert_eq!(read(&mut client, CONFIG, 4) & 0xffff, 0);
        assert_eq!(
            read(&mut client, 0, (VRAM_MIB << 20) - (64 << 10)),
            0x2821_1407
        );
    }
    client.shutdown().unwrap();
    assert_eq!(run.end().0, Some(0));
}

#[test]
fn sigterm_ends_it_with_a_report() {
    let run = Run::start(&["--rule", "at probe: unknown core"]);
    let mut client = run.connect();
    read(&mut client, BAR5, 0x7fff0);
    read(&mut client, BAR5, 0xde3 * 4);
    let pid = rustix::process::Pid::from_child(&run.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let trace = run.dir.join("trace");
    let socket = run.dir.join("gpu.sock");
    let mut run = run;
    assert_eq!(run.child.wait().unwrap().code(), Some(1));
    assert!(!socket.exists());
    let mut text = String::new();
    File::open(trace)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(text.starts_with("{\"seq\":0,"), "{text}");
    let register = "\"reg\":\"RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE\",\"value\":\"0x100\"}";
    assert!(text.contains(register), "{text}");
    assert!(run.end().1.ends_with("end violations=1 faults=0\n"));
}

/// Sends commands to a control socket; the lines of each answer.
fn answers(dir: &std::path::Path, commands: &[&str]) -> Vec<Vec<String>> {
    let mut stream = UnixStream::connect(dir.join("control")).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut answer = |command: &&str| {
        writeln!(stream, "{command}").unwrap();
        let mut answer = Vec::new();
        for line in lines.by_ref().map_while(Result::ok) {
            let ends = line.starts_with("ok") || line.starts_with("error");
            answer.push(line);
            if ends {
                break;
            }
        }
        answer
    };
    commands.iter().map(&mut answer).collect()
}

/// The same; the last lines of the answers.
fn control(dir: &std::path::Path, commands: &[&str]) -> Vec<String> {
    let answers = answers(dir, commands).into_iter();
    answers.map(|mut answer| answer.pop().unwrap()).collect()
}

#[test]
fn rules_come_and_go_by_the_control_socket() {
    let path = std::env::temp_dir().join(format!("rkfd-control-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    let socket = path.join("control");
    let run = Run::start(&["--control", socket.to_str().unwrap()]);
    let mut client = run.connect();
    let memsize = 0xde3 * 4;
    assert_eq!(read(&mut client, BAR5, memsize), VRAM_MIB as u32);
    let name = "RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE";
    let rule = format!("add at the 2nd read of {name}: read 12345678");
    assert_eq!(control(&path, &[&rule, "add nonsense"])[0], "ok 1");
    let wrong = control(&path, &["add nonsense"]);
    assert!(wrong[0].starts_with("error: expected ':'"), "{wrong:?}");
    let read3 = |client: &mut Client| [(); 3].map(|()| read(client, BAR5, memsize));
    assert_eq!(
        read3(&mut client),
        [VRAM_MIB as u32, 0x1234_5678, VRAM_MIB as u32]
    );
    assert_eq!(control(&path, &["list", "remove 1"]), ["ok 1", "ok 1"]);
    assert_eq!(read3(&mut client), [VRAM_MIB as u32; 3]);
    // Off the bus: every read gives all ones, and nothing of that is the driver's doing.
    let rule = format!("add on write of {name}: surprise removal");
    control(&path, &[&rule]);
    write(&mut client, BAR5, memsize, 0);
    assert_eq!(read3(&mut client), [u32::MAX; 3]);
    client.shutdown().unwrap();
    assert_eq!(run.end(), (Some(0), "end violations=0 faults=0\n".into()));
    fs::remove_dir_all(path).unwrap();
}

#[test]
fn it_pauses_where_the_command_line_says() {
    let path = std::env::temp_dir().join(format!("rkfd-pause-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    let socket = path.join("control");
    let socket = ["--control", socket.to_str().unwrap()];
    let _run = Run::start(&[&socket[..], &["--pause-at", "fetch", "--pause-at", "eop"]].concat());
    let answers = answers(
        &path,
        &[
            "list",
            "where",
            "pause",
            "where",
            "show hqds",
            "continue",
            "where",
            "show waves",
        ],
    );
    fs::remove_dir_all(path).unwrap();
    assert_eq!(
        answers.concat(),
        [
            "1 seen 0 done 0: on AQL packet: pause",
            "2 seen 0 done 0: on end of pipe: pause",
            "ok 2",
            "the device goes on",
            "ok",
            "stop 1 at asked for",
            "ok",
            "stop 1 at asked for",
            "ok",
            // Nobody has connected a queue.
            "ok",
            "ok",
            "the device goes on",
            "ok",
            "error: the device goes on; 'pause' stops it",
        ]
    );
}

#[test]
fn a_pause_needs_a_point_that_there_is_and_somebody_to_end_it() {
    for (args, why) in [
        (
            &["--pause-at", "lunch", "--control", "c"][..],
            "possible values: doorbell, fetch, wave, eop, ih",
        ),
        (&["--pause-at", "wave"], "--control <PATH>"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_rkfd-emulator"))
            .args(["--socket", "none"])
            .args(args)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_rule_may_end_the_process() {
    let name = "RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE";
    let mut run = Run::start(&["--rule", &format!("at the 2nd read of {name}: death")]);
    let mut client = run.connect();
    assert_eq!(read(&mut client, BAR5, 0xde3 * 4), VRAM_MIB as u32);
    let mut lost = [0; 4];
    assert!(client.region_read(BAR5, 0xde3 * 4, &mut lost).is_err());
    assert_eq!(run.child.wait().unwrap().code(), Some(9));
}

#[test]
fn a_rule_that_is_none_is_refused_with_what_was_expected() {
    let out = Command::new(env!("CARGO_BIN_EXE_rkfd-emulator"))
        .args([
            "--socket",
            "/nowhere",
            "--rule",
            "at the 3rd ADD_QUEUE: sing",
        ])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    let text = String::from_utf8(out.stderr).unwrap();
    let expected = "rule 'at the 3rd ADD_QUEUE: sing': expected 'no answer', 'hang', 'late T'";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_socket_that_is_taken_is_refused() {
    let run = Run::start(&[]);
    let second = Command::new(env!("CARGO_BIN_EXE_rkfd-emulator"))
        .arg("--socket")
        .arg(run.dir.join("gpu.sock"))
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(run.dir.join("gpu.sock").exists());
}

#[test]
fn every_chip_starts() {
    for chip in ["mi308x", "navi48"] {
        // The emulator has printed that it is ready.
        let run = Run::of(chip, &[]);
        assert!(run.dir.join("gpu.sock").exists(), "{chip}");
    }
}
