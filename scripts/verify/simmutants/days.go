package main

// dayMutants are errors of what tenants are billed, and of what they may use.
var dayMutants = []mutant{
	{
		Day:  true,
		Name: "an hour that is summed again is added to",
		File: "core/internal/accounting/ledger.go",
		Old:  "	all := sums{}\n	if _, err := l.hour(ctx, mark.Tenant, mark.Hour, all, false); err != nil {",
		New: "	all := sums{}\n	if len(before) > 0 {\n		var s stored\n		_ = l.o.Records.Decode(\"usage sums\", before[0].Payload, &s)\n		for _, sum := range s.Sums {\n			all.add(sum)\n		}\n	}\n" +
			"	if _, err := l.hour(ctx, mark.Tenant, mark.Hour, all, false); err != nil {",
	},
	{
		Day:  true,
		Name: "a record that comes late into a summed hour marks nothing",
		File: "core/store/memory/usage.go",
		Old:  "	hour.mark = hour.revision\n",
		New:  "	if hour.total == nil {\n		hour.mark = hour.revision\n	}\n",
	},
	{
		Day:  true,
		Name: "a usage record has no fence",
		File: "core/internal/run/commit.go",
		Old:  "kind == store.KindLatest, records[i].IsUsage():",
		New:  "kind == store.KindLatest:",
	},
	{
		Day:  true,
		Name: "a call that failed is not billed when its run is given back",
		File: "core/internal/run/nackwrite.go",
		Old:  "accounting.End{Unlogged: w.unlogged, LogEnd: next.Seq}",
		New:  "accounting.End{LogEnd: next.Seq}",
	},
	{
		Day:  true,
		Name: "a turn whose commit had no answer is billed twice",
		File: "core/internal/accounting/settle.go",
		Old:  "e.Unlogged.asked() && e.LogEnd <= r.from",
		New:  "e.Unlogged.asked()",
	},
	{
		Day:  true,
		Name: "wasted calls are believed that no head names",
		File: "core/mailbox/bill.go",
		Old:  "		batch.Head.Run.Stretch.Waste(batch.Head.Version)\n",
		New:  "",
	},
	{
		Day:  true,
		Name: "a stretch begins where an older copy of the run's record says",
		File: "core/internal/run/load.go",
		Old:  "		if _, known := c.Record.Base(h.head.Run.Stretch); !known {",
		New:  "		if _, known := c.Record.Base(h.head.Run.Stretch); !known && false {",
	},
	{
		Name: "what is open when its thread is deleted is not billed",
		File: "core/mailbox/delete.go",
		Old:  "		if result.Stretch == nil {",
		New:  "		if result.Stretch != nil || result.Stretch == nil {",
	},
	{
		Day:  true,
		Name: "a step that begins over a limit asks its model",
		File: "core/internal/run/account.go",
		Old:  "	if end := m.stopped(); end != nil {",
		New:  "	if end := m.stopped(); end != nil && false {",
	},
	{
		Day:  true,
		Name: "slots are not swept",
		File: "core/mailbox/slots.go",
		Old:  "	if s.gate == nil {\n		return nil\n	}\n	start :=",
		New:  "	if s.gate == nil || true {\n		return nil\n	}\n	start :=",
	},
	{
		Day:  true,
		Name: "a run that waits keeps its slot",
		File: "core/internal/run/tools.go",
		Old:  "	if result.Outcome == thread.Wait {\n		m.releaseSlot(ctx)\n	}\n",
		New:  "",
	},
	{
		Day:  true,
		Name: "a turn is charged behind its commit",
		File: "core/internal/run/advance.go",
		Old:  "	if err := m.charge(ctx); err != nil {\n		return Stepped{}, err\n	}\n",
		New:  "	defer func() { _ = m.charge(ctx) }()\n",
	},
	{
		Day:  true,
		Name: "a request that is made again is admitted again",
		File: "core/store/admission.go",
		Old:  "	if _, ok := t.Slots[a.Run]; ok {\n		return true, false\n	}\n",
		New:  "",
	},
}
