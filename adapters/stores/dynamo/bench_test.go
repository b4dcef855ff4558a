package dynamo

import (
	"bytes"
	"testing"

	"github.com/reveille-run/reveille/core/store"
)

func BenchmarkItems(b *testing.B) {
	h := testHead(2, 120_000)
	b.Run("head/encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			pk, err := partition(key)
			if err != nil {
				b.Fatal(err)
			}
			encodeHead(pk, key, &h)
		}
	})
	b.Run("head/decode", func(b *testing.B) {
		it := encodeHead(text("T#acme#t1"), key, &h)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeHead(key, it); err != nil {
				b.Fatal(err)
			}
		}
	})
	payloads := map[string][]byte{
		"300B":  bytes.Repeat([]byte("text "), 60),
		"2KB":   bytes.Repeat([]byte(`{"city":"Oslo","temperature":3.5},`), 60),
		"noise": noise(2048),
		"64KB":  bytes.Repeat([]byte(`{"city":"Oslo","temperature":3.5},`), 1928),
	}
	for _, name := range []string{"300B", "2KB", "noise", "64KB"} {
		record := store.Record{Name: "M#000000000001", Fence: 3, Payload: payloads[name]}
		it, err := encodeRecord(text("T#acme#t1"), record, maxPayload)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("record/encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(record.Payload)))
			for b.Loop() {
				if _, err := encodeRecord(text("T#acme#t1"), record, maxPayload); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("record/decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(record.Payload)))
			for b.Loop() {
				if _, err := decodeRecord(it); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
