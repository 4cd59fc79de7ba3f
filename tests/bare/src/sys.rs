// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bare system calls. Nothing here checks their arguments, so that a row can pass anything.
//!
//! Every `unsafe` that passes an address to the kernel is here. A row may pass any address: if the
//! kernel wrote where it must not, that would be the fault to find.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU64;

/// Bytes of a page.
pub const PAGE: usize = 4096;

pub(crate) fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// 0, or the errno.
pub fn ioctl(fd: &OwnedFd, cmd: u32, arg: u64) -> i32 {
    // SAFETY: the argument is a row's own buffer, large enough for what the request's number
    // makes the kernel write, or an address that must be refused.
    let r = unsafe { libc::ioctl(fd.as_raw_fd(), libc::c_ulong::from(cmd), arg) };
    if r < 0 {
        last_errno()
    } else {
        0
    }
}

/// The same through the 32-bit entry of the kernel. `arg` must lie below 4 GiB.
pub fn ioctl_compat(fd: &OwnedFd, cmd: u32, arg: u64) -> i32 {
    const IOCTL: u32 = 54;
    compat(IOCTL, fd.as_raw_fd() as u32, cmd, arg as u32)
}

/// `open(path, O_RDWR)` through the 32-bit entry: 0, or the errno. `path` lies below 4 GiB.
pub fn open_compat(path: u64) -> i32 {
    const OPEN: u32 = 5;
    compat(OPEN, path as u32, libc::O_RDWR as u32, 0)
}

/// The 32-bit entry. Where the kernel was built without it, this returns ENOSYS, since the instruction
/// would fault.
fn compat(number: u32, a: u32, b: u32, c: u32) -> i32 {
    // This file exists if the kernel has the 32-bit entry.
    if !std::path::Path::new("/proc/sys/abi/vsyscall32").exists() {
        return libc::ENOSYS;
    }
    let result: i64;
    // SAFETY: the 32-bit system call entry; it takes rbx, rcx and rdx, preserves everything but
    // rax and r8 to r11, and touches no memory but what the arguments name.
    unsafe {
        core::arch::asm!(
            "xchg rbx, {a}", "int 0x80", "xchg rbx, {a}",
            a = inout(reg) u64::from(a) => _,
            inlateout("rax") i64::from(number) => result,
            in("rcx") u64::from(b), in("rdx") u64::from(c),
            lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
        );
    }
    match result as i32 {
        error @ -4095..=-1 => -error,
        _ => 0,
    }
}

/// Opens a file for reading and writing.
pub fn open(path: &str) -> Result<OwnedFd, i32> {
    open_with(path, libc::O_RDWR | libc::O_CLOEXEC)
}

/// Opens a file with these flags.
pub fn open_with(path: &str, flags: i32) -> Result<OwnedFd, i32> {
    let path = CString::new(path).map_err(|_| libc::EINVAL)?;
    // SAFETY: a terminated string that outlives the call.
    let fd = unsafe { libc::open(path.as_ptr(), flags) };
    if fd < 0 {
        return Err(last_errno());
    }
    // SAFETY: the kernel just gave it to us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a character device node.
pub fn mknod(path: &str, major: u32, minor: u32) -> Result<(), i32> {
    let path = CString::new(path).map_err(|_| libc::EINVAL)?;
    // SAFETY: a terminated string that outlives the call.
    let r = unsafe {
        libc::mknod(
            path.as_ptr(),
            libc::S_IFCHR | 0o600,
            libc::makedev(major, minor),
        )
    };
    if r < 0 {
        Err(last_errno())
    } else {
        Ok(())
    }
}

/// Major number of a device file.
pub fn major(path: &str) -> Result<u32, i32> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path).map_err(|e| e.raw_os_error().unwrap_or(0))?;
    Ok(libc::major(meta.rdev()))
}

/// A mapping, which is removed when dropped.
pub struct Map {
    /// Where it is.
    pub address: u64,
    len: usize,
}

impl Map {
    /// A mapping that was just made, and is nobody else's.
    pub(crate) fn of(address: u64, len: usize) -> Self {
        Self { address, len }
    }

    /// Maps a file.
    pub fn file(fd: &OwnedFd, offset: u64, len: usize, prot: i32, flags: i32) -> Result<Self, i32> {
        Self::new(fd.as_raw_fd(), offset, len, prot, flags)
    }

    /// Anonymous memory.
    pub fn anonymous(len: usize, prot: i32, extra: i32) -> Result<Self, i32> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | extra;
        Self::new(-1, 0, len, prot, flags)
    }

    /// Memory that children made by `fork` share with their parent.
    pub fn shared(len: usize) -> Result<Self, i32> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        Self::new(-1, 0, len, prot, libc::MAP_SHARED | libc::MAP_ANONYMOUS)
    }

    /// The 64-bit word at a byte offset, shared with whoever else has the mapping. The mapping must be
    /// readable and writable.
    pub fn atomic(&self, offset: usize) -> &AtomicU64 {
        assert!(offset % 8 == 0 && offset + 8 <= self.len);
        // SAFETY: aligned and within the mapping, which lives as long as the reference.
        unsafe { AtomicU64::from_ptr((self.address as usize + offset) as *mut u64) }
    }

    fn new(fd: i32, offset: u64, len: usize, prot: i32, flags: i32) -> Result<Self, i32> {
        // SAFETY: no address is demanded, so nothing that exists is replaced.
        let p = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, fd, offset as i64) };
        if p == libc::MAP_FAILED {
            return Err(last_errno());
        }
        Ok(Self {
            address: p as u64,
            len,
        })
    }

    /// The 64-bit word at a byte offset.
    pub fn read(&self, offset: usize) -> u64 {
        assert!(offset % 8 == 0 && offset + 8 <= self.len);
        // SAFETY: aligned and within the mapping, which is readable in every row that reads.
        unsafe { ((self.address as usize + offset) as *const u64).read_volatile() }
    }

    /// Writes the 64-bit word at a byte offset.
    pub fn write(&self, offset: usize, value: u64) {
        assert!(offset % 8 == 0 && offset + 8 <= self.len);
        // SAFETY: aligned and within the mapping, which is writable in every row that writes.
        unsafe { ((self.address as usize + offset) as *mut u64).write_volatile(value) }
    }

    /// Copies bytes to an offset.
    pub fn put(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.len);
        // SAFETY: within the mapping, which is writable in every row that writes.
        unsafe {
            let to = (self.address as usize + offset) as *mut u8;
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    /// Changes the protection of a part of the mapping.
    pub fn protect(&self, offset: usize, len: usize, prot: i32) -> Result<(), i32> {
        assert!(offset + len <= self.len);
        let address = (self.address as usize + offset) as *mut libc::c_void;
        // SAFETY: within our own mapping, to which there are no references.
        match unsafe { libc::mprotect(address, len, prot) } {
            0 => Ok(()),
            _ => Err(last_errno()),
        }
    }

    /// Takes a page away; the next access gets an empty one.
    pub fn dont_need(&self, offset: usize, len: usize) {
        assert!(offset + len <= self.len);
        let address = (self.address as usize + offset) as *mut libc::c_void;
        // SAFETY: within our own mapping, to which there are no references.
        unsafe { libc::madvise(address, len, libc::MADV_DONTNEED) };
    }

    /// Grows the mapping, in place or elsewhere; returns 0 or the errno. It is removed afterwards.
    pub fn grow(mut self, len: usize) -> i32 {
        let old = self.address as *mut libc::c_void;
        // SAFETY: our own mapping, to which there are no references.
        let p = unsafe { libc::mremap(old, self.len, len, libc::MREMAP_MAYMOVE) };
        if p == libc::MAP_FAILED {
            return last_errno();
        }
        (self.address, self.len) = (p as u64, len);
        0
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: our own mapping, to which there are no references.
        unsafe { libc::munmap(self.address as *mut libc::c_void, self.len) };
    }
}

/// The bytes of a plain structure.
pub fn bytes<T: rkfd_uapi::abi::Abi>(value: &T) -> Vec<u8> {
    let mut out = vec![0; size_of::<T>()];
    // SAFETY: a structure of the ABI is integers without padding, and `out` has its size.
    unsafe {
        let from = std::ptr::from_ref(value).cast::<u8>();
        std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len());
    }
    out
}

/// The bytes of some words.
pub fn words_as_bytes(words: &mut [u64]) -> &mut [u8] {
    let len = size_of_val(words);
    // SAFETY: the same memory, for as long, with a smaller alignment; every byte is initialised, and any
    // bytes make a word.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), len) }
}

/// A structure's address, for the kernel.
pub fn address<T: ?Sized>(value: &mut T) -> u64 {
    std::ptr::from_mut(value).cast::<u8>() as u64
}

/// Forks; returns `None` in the child.
///
/// The program has one thread when it forks, or the child only makes system calls.
pub fn fork() -> Option<i32> {
    // SAFETY: see above.
    match unsafe { libc::fork() } {
        0 => None,
        pid => Some(pid),
    }
}

/// Ends the process at once, without running destructors or exit handlers.
pub fn exit(status: i32) -> ! {
    // SAFETY: takes nothing but a number.
    unsafe { libc::_exit(status) }
}

/// Waits for a child's end: its wait status.
pub fn wait(pid: i32) -> i32 {
    let mut status = 0;
    loop {
        // SAFETY: the status outlives the call.
        let r = unsafe { libc::waitpid(pid, &mut status, 0) };
        if r == pid || last_errno() != libc::EINTR {
            return status;
        }
    }
}

/// The wait status of a child that has ended; `None` while it runs.
pub fn ended(pid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    let r = unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) };
    (r == pid).then_some(status)
}

/// Sends a signal.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: takes nothing but numbers.
    unsafe { libc::kill(pid, signal) };
}

/// The id of the calling thread, for [`kill_thread`].
pub fn thread_id() -> i32 {
    // SAFETY: takes nothing.
    unsafe { libc::gettid() }
}

/// Sends a signal to a thread of this process.
pub fn kill_thread(tid: i32, signal: i32) {
    // SAFETY: takes nothing but numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, signal) };
}

/// Installs a handler that does nothing.
pub fn ignore_by_handler(signal: i32, restart: bool) {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: zero is a valid sigaction; the handler makes no call at all.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        action.sa_flags = if restart { libc::SA_RESTART } else { 0 };
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// Lets the process go on when the pages of a mapping are gone: an empty page takes the place of each
/// that is touched, in place of SIGBUS.
pub fn replace_lost_pages() {
    extern "C" fn replace(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the kernel gives a valid siginfo; the page belongs to a mapping that has lost it, and
        // nothing but volatile stores touches such mappings. mmap is safe in a signal handler.
        unsafe {
            let page = ((*info).si_addr() as usize & !(PAGE - 1)) as *mut libc::c_void;
            if libc::mmap(page, PAGE, prot, flags, -1, 0) == libc::MAP_FAILED {
                libc::_exit(126);
            }
        }
    }
    // SAFETY: zero is a valid sigaction; the handler has the form that SA_SIGINFO demands.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = replace as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

/// The default action, which ends the process, after so many seconds.
pub fn alarm(seconds: u32) {
    // SAFETY: takes nothing but a number.
    unsafe { libc::alarm(seconds) };
}

/// Becomes an ordinary user, without capabilities.
pub fn drop_privileges() -> i32 {
    // SAFETY: takes nothing but numbers.
    match unsafe { libc::setresuid(65534, 65534, 65534) } {
        0 => 0,
        _ => last_errno(),
    }
}

/// The process' id.
pub fn pid() -> u32 {
    std::process::id()
}

/// `CLOCK_MONOTONIC_RAW` or another clock, in nanoseconds.
pub fn clock(id: i32) -> u64 {
    // SAFETY: zero is a valid timespec, which outlives the call.
    let t = unsafe {
        let mut t: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(id, &mut t);
        t
    };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// `read`, `write` or `lseek` of a file: 0, or the errno.
pub fn file_call(fd: &OwnedFd, what: &str) -> i32 {
    let mut buffer = [0u8; 8];
    let p = buffer.as_mut_ptr().cast::<libc::c_void>();
    // SAFETY: a buffer of 8 bytes that outlives the calls.
    let r = unsafe {
        match what {
            "read" => libc::read(fd.as_raw_fd(), p, 8),
            "write" => libc::write(fd.as_raw_fd(), p, 8),
            _ => libc::lseek(fd.as_raw_fd(), 1, libc::SEEK_SET) as isize,
        }
    };
    if r < 0 {
        last_errno()
    } else {
        0
    }
}

/// Another descriptor of the same open file.
pub fn dup(fd: &OwnedFd) -> Result<OwnedFd, i32> {
    fd.try_clone().map_err(|e| e.raw_os_error().unwrap_or(0))
}

/// A pipe: reading and writing end.
pub fn pipe() -> Result<(std::fs::File, std::fs::File), i32> {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors, which nobody else owns afterwards.
    unsafe {
        match libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) {
            0 => Ok((
                FromRawFd::from_raw_fd(fds[0]),
                FromRawFd::from_raw_fd(fds[1]),
            )),
            _ => Err(last_errno()),
        }
    }
}

/// Takes ownership of a descriptor that the driver has returned.
pub fn own(fd: u32) -> OwnedFd {
    // SAFETY: it was made for this process by the last call, so nobody else owns it.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// Sends a file through a socket (SCM_RIGHTS), and returns the one that arrives.
pub fn send_to_self(fd: &OwnedFd) -> Result<OwnedFd, i32> {
    const LEN: u32 = size_of::<i32>() as u32;
    let mut byte = [0u8];
    let mut piece = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    };
    let mut control = [0u64; 8];
    // SAFETY: all structures are zeroed or filled and outlive the calls; the control buffer is aligned
    // and larger than CMSG_SPACE of a descriptor; what arrives belongs to nobody else.
    unsafe {
        let mut ends = [0; 2];
        if libc::socketpair(
            libc::AF_UNIX,
            libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
            0,
            ends.as_mut_ptr(),
        ) != 0
        {
            return Err(last_errno());
        }
        let (a, b) = (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]));
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(LEN) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(LEN) as usize;
        libc::CMSG_DATA(header)
            .cast::<i32>()
            .write_unaligned(fd.as_raw_fd());
        if libc::sendmsg(a.as_raw_fd(), &raw const message, 0) < 0
            || libc::recvmsg(b.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) < 0
        {
            return Err(last_errno());
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(libc::EBADF);
        }
        Ok(own(libc::CMSG_DATA(header).cast::<u32>().read_unaligned()))
    }
}

/// The inode of an open file.
pub fn inode(fd: &OwnedFd) -> Result<u64, String> {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::File::from(dup(fd).map_err(|e| format!("dup: errno {e}"))?);
    Ok(file.metadata().map_err(|e| format!("fstat: {e}"))?.ino())
}

/// The offset of an open file's end, by `lseek`.
pub fn end(fd: &OwnedFd) -> u64 {
    // SAFETY: takes nothing but numbers.
    unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_END) as u64 }
}

/// Whether `exec` closes a descriptor.
pub fn is_cloexec(fd: &OwnedFd) -> bool {
    // SAFETY: takes nothing but numbers.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFD) & libc::FD_CLOEXEC != 0 }
}

/// Limits the process to descriptors below this number.
pub fn limit_files(count: u64) {
    let limit = libc::rlimit {
        rlim_cur: count,
        rlim_max: count,
    };
    // SAFETY: a structure that outlives the call.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
}

/// A DMA-buf that the kernel's udmabuf driver makes from a program's memory (`/dev/udmabuf`).
pub fn udmabuf(len: u64) -> Result<OwnedFd, String> {
    /// `struct udmabuf_create` of <linux/udmabuf.h>.
    #[repr(C)]
    struct Create {
        memfd: u32,
        flags: u32,
        offset: u64,
        size: u64,
    }
    const UDMABUF_CREATE: u32 = (1 << 30) | (24 << 16) | ((b'u' as u32) << 8) | 0x42;
    let device = open("/dev/udmabuf").map_err(|e| format!("/dev/udmabuf: errno {e}"))?;
    // SAFETY: a terminated string; the descriptor is nobody else's; numbers otherwise.
    let memory = unsafe {
        let fd = libc::memfd_create(c"rkfd".as_ptr(), libc::MFD_ALLOW_SEALING);
        if fd < 0
            || libc::ftruncate(fd, len as i64) != 0
            || libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) != 0
        {
            return Err(format!("memfd: errno {}", last_errno()));
        }
        OwnedFd::from_raw_fd(fd)
    };
    let mut create = Create {
        memfd: memory.as_raw_fd() as u32,
        flags: 0,
        offset: 0,
        size: len,
    };
    // SAFETY: the structure outlives the call, which gives a descriptor.
    let fd = unsafe {
        libc::ioctl(
            device.as_raw_fd(),
            libc::c_ulong::from(UDMABUF_CREATE),
            &raw mut create,
        )
    };
    u32::try_from(fd)
        .map(own)
        .map_err(|_| format!("UDMABUF_CREATE: errno {}", last_errno()))
}

/// Has a cgroup of version 2, whose folder is open, forbid all devices with this minor number to those
/// in it (a BPF program of the type CGROUP_DEVICE).
pub fn forbid_minor(group: &OwnedFd, minor: u32) -> Result<(), i32> {
    const PROG_LOAD: i32 = 5;
    const PROG_ATTACH: i32 = 8;
    const TYPE_CGROUP_DEVICE: u32 = 15;
    const CGROUP_DEVICE: u32 = 6;
    let insn = |op: u8, registers: u8, offset: i16, imm: u32| {
        u64::from(op)
            | (u64::from(registers) << 8)
            | (u64::from(offset as u16) << 16)
            | (u64::from(imm) << 32)
    };
    // r0 = 1; r2 = the context's minor; if it is the one: r0 = 0; return r0.
    let program = [
        insn(0xb7, 0, 0, 1),
        insn(0x61, 0x12, 8, 0),
        insn(0x55, 0x02, 1, minor),
        insn(0xb7, 0, 0, 0),
        insn(0x95, 0, 0, 0),
    ];
    let call = |command: i32, words: [u64; 4]| {
        // The kernel takes a shorter structure for one that ends with zeros.
        let size = std::mem::size_of_val(&words);
        // SAFETY: the structure, the program and the text outlive the call.
        match unsafe { libc::syscall(libc::SYS_bpf, command, words.as_ptr(), size) } {
            -1 => Err(last_errno()),
            result => Ok(result as u32),
        }
    };
    let license = c"GPL";
    let loaded = call(
        PROG_LOAD,
        [
            u64::from(TYPE_CGROUP_DEVICE) | ((program.len() as u64) << 32),
            program.as_ptr() as u64,
            license.as_ptr() as u64,
            0,
        ],
    )?;
    let loaded = own(loaded);
    let target = group.as_raw_fd() as u64 | ((loaded.as_raw_fd() as u64) << 32);
    call(PROG_ATTACH, [target, u64::from(CGROUP_DEVICE), 0, 0]).map(|_| ())
}
