package wire

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestCharactersArePlacesInBytes(t *testing.T) {
	var short TurnText
	short.Add("Où 😀")
	short.Add(" est")
	var long TurnText // 10,001 bytes, more than two strides
	long.Add(strings.Repeat("é", 5000))
	long.Characters(0, 1) // counts what there is
	long.Add("x")
	var stride TurnText
	stride.Add(strings.Repeat("x", 4096))
	tests := []struct {
		name           string
		text           *TurnText
		place, n, want int
	}{
		{"the beginning", &short, 0, 0, 0},
		{"after two bytes of one character", &short, 0, 2, 3},
		{"before four bytes", &short, 0, 3, 4},
		{"after them", &short, 0, 4, 8},
		{"the end", &short, 0, 8, 12},
		{"beyond the end", &short, 0, 9, 12},
		{"far beyond it", &short, 4, math.MaxInt, 12},
		{"fewer than none", &short, 4, -1, 4},
		{"from a place", &short, 4, 2, 9},
		{"from a place beyond the end", &short, 99, 1, 12},
		{"the last of a stride", &long, 0, 2047, 4094},
		{"the end of a stride", &long, 0, 2048, 4096},
		{"after it", &long, 0, 2049, 4098},
		{"from the end of a stride", &long, 4096, 2048, 8192},
		{"over the end of two strides", &long, 4094, 2050, 8194},
		{"the end of a text of one stride", &stride, 4096, 1, 4096},
		{"the last of a text of one stride", &stride, 4094, 1, 4095},
		{"the rest", &long, 8192, 904, 10000},
		{"the end of a long text", &long, 0, 5001, 10001},
		{"beyond the end of a long text", &long, 0, 5002, 10001},
	}
	for _, tt := range tests {
		if got := tt.text.Characters(tt.place, tt.n); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if short.Len() != 12 || long.Len() != 10001 {
		t.Errorf("lengths %d and %d, want 12 and 10001", short.Len(), long.Len())
	}
}

func TestHalvesCountAsTheirCharacter(t *testing.T) {
	marked := func(text string) string { return string(MarkHalves([]byte(text))) }
	var s TurnText
	s.Add(marked(`a\ud83d`))
	if s.Len() != 1 {
		t.Errorf("a half counts: %d bytes, want 1", s.Len())
	}
	s.Add(marked(`\ude00b`))
	if s.Len() != 6 || s.Characters(0, 2) != 5 {
		t.Errorf("%d bytes, the third character is at %d, want 6 and 5", s.Len(), s.Characters(0, 2))
	}
	s.Add(marked(`\ude00`))
	if s.Len() != 9 {
		t.Errorf("a half that stays alone: %d bytes, want 9", s.Len())
	}
}

// An event may have as many citations.
func TestManyOffsetsOfALongTextTakeLittleTime(t *testing.T) {
	var s TurnText
	s.Add(strings.Repeat("é", 1<<20))
	began := time.Now()
	for i := range 100_000 {
		s.Characters(1<<20, i)
	}
	if took := time.Since(began); took > 20*time.Second { // a text that is read from its beginning takes minutes
		t.Errorf("100,000 offsets take %v", took)
	}
}
