package bolt

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// settle makes durable what a file shows, before anybody goes on from it. Two
// things may stand there that are not on the disk: what a process had not synced
// when it was killed, and what a sync that failed was about. The latter the
// system may count as written, and never write: it is written again.
//
// Two writes matter. A meta page that shows bbolt's last commit while the disk has
// the one before: the frames of that commit are the only copy of what it made
// durable, and the next frame would take their place. And a frame whose writer was
// told that it failed: whoever reads on as if it were not there must not find it
// after a restart. While the disk refuses this, nothing is read or written.
func (d *database) settle() error {
	newest, _, err := newestMeta(d.disk)
	if err != nil {
		return d.refused(err)
	}
	if newest == nil {
		return d.explain(core.Errorf(core.CodeCorrupt, "neither of its meta pages is valid"))
	}
	at := int64(newest.transaction % 2 * newest.pageSize)
	var page [pageHeader + metaSize]byte
	if _, err := d.disk.ReadAt(page[:], at); err != nil {
		return d.refused(err)
	}
	torn := d.journal != nil && d.journal.torn
	if !torn && at == d.metaAt && page == d.meta { // the last commit did not come as far
		d.doubt = false
		return nil
	}
	if torn {
		if err := d.journal.void(); err != nil {
			return d.refused(err)
		}
	}
	d.syncs.Add(1)
	_, err = d.disk.WriteAt(page[:], at)
	if err == nil {
		err = d.disk.Sync()
	}
	if err != nil {
		return d.refused(fmt.Errorf("find out what is on the disk: %w", err))
	}
	if torn {
		d.journal.torn = false
	}
	d.doubt = false
	return nil
}
