package calendar_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/calendar"
)

func TestDaysAreThoseOfUTC(t *testing.T) {
	tests := []struct{ millis, day, ends int64 }{
		{0, 0, 86_400_000}, {86_399_999, 0, 86_400_000}, {86_400_000, 1, 172_800_000}, {1_700_000_000_000, 19675, 1_700_006_400_000},
	}
	for _, tt := range tests {
		if day := calendar.Day(tt.millis); day != tt.day || calendar.DayEnds(day) != tt.ends {
			t.Errorf("%d is on day %d, which ends at %d; want %d, %d", tt.millis, day, calendar.DayEnds(day), tt.day, tt.ends)
		}
	}
}

func TestHoursAreThoseOfUTC(t *testing.T) {
	if a, b, c := calendar.Hour(3_599_999), calendar.Hour(3_600_000), calendar.Hour(1_700_000_000_000); a != 0 || b != 1 || c != 472222 {
		t.Errorf("hours %d, %d and %d, want 0, 1 and 472222", a, b, c)
	}
}
