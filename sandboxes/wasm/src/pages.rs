//! Which pages of a memory differ from its image, according to the kernel: the `PAGEMAP_SCAN` call
//! of Linux 6.7, and the page faults of a thread, without which no page becomes private. The only
//! unsafe code here is these two calls.

use std::fs::File;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::thread::ThreadId;

use rustix::thread::disable_transparent_huge_pages;

/// `PAGEMAP_SCAN`. The filter of system calls allows this number.
const PAGEMAP_SCAN: u64 = 0xc060_6610;

/// The page is one of the image's file, unchanged.
const FILE: u64 = 1 << 2;
/// The page is in memory.
const PRESENT: u64 = 1 << 3;
/// The page is in swap space, or the kernel is moving it.
const SWAPPED: u64 = 1 << 4;
/// The page is the shared page of zeros.
const ZERO: u64 = 1 << 5;

/// `struct page_region` of the kernel.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `struct pm_scan_arg` of the kernel.
#[derive(Default)]
#[repr(C)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// Size of the parts of a memory that are compared, in bytes: that of a page on most machines, and
/// a part of it on others.
pub(crate) const PAGE: usize = 4 << 10;

/// Regions of one scan.
const REGIONS: usize = 1_024;

/// The page map of this process.
pub(crate) struct PageMap(File);

impl PageMap {
    /// Opens the page map, which must happen before the process is confined. Also disables huge
    /// pages for memory that is mapped from now on: the kernel could make one of many pages that
    /// were never written to, without a page fault.
    pub(crate) fn open() -> std::io::Result<Self> {
        disable_transparent_huge_pages(true)?;
        File::open("/proc/self/pagemap").map(Self)
    }

    /// The byte ranges of `memory`, in order, whose pages are private to this process. `None` if
    /// the kernel cannot scan pages, or if the memory does not start at a page boundary.
    pub(crate) fn all_private(&self, memory: &[u8]) -> Option<Vec<Range<usize>>> {
        let (mut ranges, mut scanned) = (Vec::new(), 0);
        while scanned < memory.len() {
            let (found, end) = self.scan_part(&memory[scanned..], REGIONS, 0)?;
            let shifted = found.iter();
            ranges.extend(shifted.map(|range| range.start + scanned..range.end + scanned));
            scanned += end;
            if end == 0 {
                return None;
            }
        }
        Some(ranges)
    }

    /// The byte ranges of `memory`, in order, whose pages are private to this process: everything
    /// that was ever written to since the memory was mapped. `None` if more than `most` pages are,
    /// if the kernel cannot scan pages, or if the memory does not start at a page boundary.
    pub(crate) fn private(&self, memory: &[u8], most: usize) -> Option<Vec<Range<usize>>> {
        let (ranges, end) = self.scan_part(memory, most, most)?;
        (end == memory.len()).then_some(ranges)
    }

    /// The private byte ranges from the start of `memory`, at most `regions`, and where the scan
    /// ended. It ends after `most_pages`; 0 is no limit.
    fn scan_part(
        &self,
        memory: &[u8],
        regions: usize,
        most_pages: usize,
    ) -> Option<(Vec<Range<usize>>, usize)> {
        let start = memory.as_ptr().addr() as u64;
        let end = start + memory.len() as u64;
        let mut regions = vec![Region::default(); regions];
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            start,
            end,
            regions: regions.as_mut_ptr().addr() as u64,
            regions_len: regions.len() as u64,
            max_pages: most_pages as u64,
            // Neither of the image's file nor of zeros, and either in memory or swapped.
            category_inverted: FILE | ZERO,
            category_mask: FILE | ZERO,
            category_anyof_mask: PRESENT | SWAPPED,
            ..Scan::default()
        };
        let found = usize::try_from(self.scan(&mut scan)?).ok()?;
        let offset = |address: u64| usize::try_from(address.checked_sub(start)?).ok();
        let ranges = regions.get(..found)?.iter();
        let ranges = ranges.map(|region| Some(offset(region.start)?..offset(region.end)?));
        Some((ranges.collect::<Option<_>>()?, offset(scan.walk_end)?))
    }

    #[expect(unsafe_code, reason = "no library has a function for this call")]
    fn scan(&self, scan: &mut Scan) -> Option<i32> {
        // SAFETY: the kernel reads and writes `scan`, whose size is in it, and writes at most
        // `regions_len` regions to the vector of this length, which outlives the call. It reads
        // the page tables of the addresses in between and changes nothing there, because no flag is
        // set. The descriptor is open.
        let found = unsafe { libc::ioctl(self.0.as_raw_fd(), PAGEMAP_SCAN, scan) };
        (found >= 0).then_some(found)
    }
}

/// Number of page faults of one thread up to a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageFaults {
    thread: ThreadId,
    minor: i64,
    major: i64,
}

impl PageFaults {
    /// The page faults of the current thread up to now. `None` if the kernel does not report them.
    #[expect(unsafe_code, reason = "the call of libc")]
    pub(crate) fn of_this_thread() -> Option<Self> {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the pointer is valid for writing one value of this type.
        let failed = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0;
        if failed {
            return None;
        }
        // SAFETY: a successful call has filled the value.
        let usage = unsafe { usage.assume_init() };
        Some(Self {
            thread: std::thread::current().id(),
            minor: usage.ru_minflt,
            major: usage.ru_majflt,
        })
    }

    /// Whether the current thread is the same one and has had no page fault since.
    pub(crate) fn are_all_until_now(self) -> bool {
        Self::of_this_thread() == Some(self)
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Engine, Memory, MemoryType, Store};

    use super::*;

    #[test]
    fn reports_exactly_the_pages_that_were_written_to() {
        let mut store = Store::new(&Engine::default(), ());
        let memory = Memory::new(&mut store, MemoryType::new(64, None)).unwrap();
        let map = PageMap::open().unwrap();
        let bytes = memory.data_mut(&mut store);
        assert_eq!(bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 0);
        assert_eq!(
            map.private(bytes, 9),
            Some(Vec::new()),
            "reading is no change"
        );
        // Pages have at most 64 KiB.
        let page = 64 << 10;
        for at in [0, 5, 6, 63] {
            bytes[at * page + 7] = 1;
        }
        let found = map.private(bytes, 99).unwrap();
        let is_reported = |at: usize| found.iter().any(|range| range.contains(&at));
        for at in 0..64 {
            let is_written = [0, 5, 6, 63].contains(&at);
            assert_eq!(is_reported(at * page + 7), is_written, "page {at}");
        }
        assert_eq!(map.private(bytes, 2), None, "more pages than allowed");
    }

    #[test]
    fn a_page_becomes_private_only_by_a_page_fault() {
        let mut store = Store::new(&Engine::default(), ());
        let memory = Memory::new(&mut store, MemoryType::new(64, None)).unwrap();
        let bytes = memory.data_mut(&mut store);
        let page = 64 << 10;
        bytes[7] = 1;
        let before = PageFaults::of_this_thread().unwrap();
        bytes[9] = 1;
        assert!(before.are_all_until_now(), "the page is private already");
        bytes[5 * page] = 1;
        assert!(!before.are_all_until_now());
        let before = PageFaults::of_this_thread().unwrap();
        let elsewhere = std::thread::spawn(move || before.are_all_until_now());
        assert!(!elsewhere.join().unwrap());
    }
}
