package bolt

// zeros is what fill writes at most.
var zeros [1 << 20]byte

// fill keeps zeros after the pages that bbolt uses, about a quarter of the file, 64 KiB
// to 1 MiB. A page that replaces written ones is synced without a commit of the file
// system's own journal, which may wait for writes of other processes. If the disk refuses
// zeros, bbolt finds out whether it accepts pages. Zeros of an earlier process count, see
// [written]: the first transaction of a process writes and syncs no more than others.
func (d *database) fill(used int64) {
	n := int64(64 << 10)
	for n < used/4 && n < int64(len(zeros)) {
		n *= 2
	}
	if d.filled = max(d.filled, used); d.filled-used > n/2 {
		return
	}
	if _, err := d.disk.WriteAt(zeros[:n], d.filled); err == nil {
		d.filled += n
		d.size.Store(max(d.size.Load(), d.filled))
	}
}
