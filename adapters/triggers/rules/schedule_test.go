package rules

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSchedules(t *testing.T) {
	const from = "2026-11-22T05:07:30Z" // a Sunday
	tests := []struct {
		expression string
		want       []string
	}{
		{"rate(1 minute)", []string{"2026-11-22T05:08:00Z", "2026-11-22T05:09:00Z"}},
		{"rate(5 minutes)", []string{"2026-11-22T05:10:00Z", "2026-11-22T05:15:00Z"}},
		{"rate(1 hour)", []string{"2026-11-22T06:00:00Z", "2026-11-22T07:00:00Z"}},
		{"rate(1 day)", []string{"2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"}},
		{"cron(0 9 * * ? *)", []string{"2026-11-22T09:00:00Z", "2026-11-23T09:00:00Z"}},
		{"cron(7 5 * * ? *)", []string{"2026-11-23T05:07:00Z"}},
		{"cron(0/20 * * * ? *)", []string{"2026-11-22T05:20:00Z", "2026-11-22T05:40:00Z", "2026-11-22T06:00:00Z"}},
		{"cron(10-40/15 23 * * ? *)", []string{"2026-11-22T23:10:00Z", "2026-11-22T23:25:00Z", "2026-11-22T23:40:00Z", "2026-11-23T23:10:00Z"}},
		{"cron(15,45 5,6 * * ? *)", []string{"2026-11-22T05:15:00Z", "2026-11-22T05:45:00Z", "2026-11-22T06:15:00Z"}},
		{"cron(0 7 ? * MON-FRI *)", []string{"2026-11-23T07:00:00Z", "2026-11-24T07:00:00Z", "2026-11-25T07:00:00Z", "2026-11-26T07:00:00Z", "2026-11-27T07:00:00Z", "2026-11-30T07:00:00Z"}},
		{"cron(0 7 ? * 1 *)", []string{"2026-11-22T07:00:00Z", "2026-11-29T07:00:00Z"}},
		{"cron(0 7 ? * sat *)", []string{"2026-11-28T07:00:00Z"}},
		{"cron(0 0 1 * ? *)", []string{"2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"}},
		{"cron(0 0 L * ? *)", []string{"2026-11-30T00:00:00Z", "2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z", "2027-02-28T00:00:00Z"}},
		{"cron(0 0 29 FEB ? *)", []string{"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
		{"cron(0 0 31 4,5 ? *)", []string{"2027-05-31T00:00:00Z"}},
		{"cron(30 8 1 JAN ? 2030)", []string{"2030-01-01T08:30:00Z", "over"}},
		{"cron(0 0 30 2 ? *)", []string{"over"}},
	}
	for _, tt := range tests {
		t.Run(tt.expression, func(t *testing.T) {
			s, err := parseSchedule(tt.expression)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, from)
			if err != nil {
				t.Fatal(err)
			}
			at = at.In(time.FixedZone("east", 5*3600)) // schedules are in UTC all the same
			var got []string
			for range tt.want {
				if at, err = s.next(at); errors.Is(err, errOver) {
					got = append(got, "over")
					break
				}
				got = append(got, at.Format(time.RFC3339))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSchedulesThatAreRefused(t *testing.T) {
	const rate = ") is not a rate, want a number from 1 to 10000 and minute, minutes, hour, hours, day or days, the singular for 1"
	const forms = " is not a schedule, want rate(5 minutes) or cron(0 9 * * ? *)"
	tests := []struct{ expression, want string }{
		{"", `""` + forms},
		{"0 9 * * *", `"0 9 * * *"` + forms},
		{"at(2026-11-22T05:00:00)", `"at(2026-11-22T05:00:00)"` + forms},
		{"rate(5 minutes", `"rate(5 minutes"` + forms},
		{"rate(0 minutes)", "rate(0 minutes" + rate},
		{"rate(1 minutes)", "rate(1 minutes" + rate},
		{"rate(5 minute)", "rate(5 minute" + rate},
		{"rate(5 seconds)", "rate(5 seconds" + rate},
		{"rate(10001 days)", "rate(10001 days" + rate},
		{"rate(+5 minutes)", "rate(+5 minutes" + rate},
		{"rate(five days)", "rate(five days" + rate},
		{"cron(0 9 * * ?)", "cron(0 9 * * ?) has 5 fields, required are six: minutes hours day-of-month month day-of-week year"},
		{"cron(0 9 * * * *)", "cron(0 9 * * * *): exactly one of day-of-month and day-of-week must be ?"},
		{"cron(0 9 ? * ? *)", "cron(0 9 ? * ? *): exactly one of day-of-month and day-of-week must be ?"},
		{"cron(60 9 * * ? *)", `cron(60 9 * * ? *): minutes: "60" is not allowed, allowed are 0 to 59`},
		{"cron(0 24 * * ? *)", `cron(0 24 * * ? *): hours: "24" is not allowed, allowed are 0 to 23`},
		{"cron(? 9 * * ? *)", `cron(? 9 * * ? *): minutes: "?" is not allowed, allowed are 0 to 59`},
		{"cron(0 9 0 * ? *)", `cron(0 9 0 * ? *): day-of-month: "0" is not allowed, allowed are 1 to 31`},
		{"cron(0 9 15W * ? *)", `cron(0 9 15W * ? *): day-of-month: "15W" is not allowed, allowed are 1 to 31`},
		{"cron(0 9 * 13 ? *)", `cron(0 9 * 13 ? *): month: "13" is not allowed, allowed are 1 to 12 or JAN to DEC`},
		{"cron(0 9 ? * 5L *)", `cron(0 9 ? * 5L *): day-of-week: "5L" is not allowed, allowed are 1 to 7 or SUN to SAT`},
		{"cron(0 9 ? * 2#1 *)", `cron(0 9 ? * 2#1 *): day-of-week: "2#1" is not allowed, allowed are 1 to 7 or SUN to SAT`},
		{"cron(0 9 ? * FRI-MON *)", `cron(0 9 ? * FRI-MON *): day-of-week: FRI-MON ends before it begins`},
		{"cron(0 9 * * ? 2200)", `cron(0 9 * * ? 2200): year: "2200" is not allowed, allowed are 1970 to 2199`},
		{"cron(0/0 9 * * ? *)", `cron(0/0 9 * * ? *): minutes: step "0" is not a number from 1 to 59`},
		{"cron(+5 9 * * ? *)", `cron(+5 9 * * ? *): minutes: "+5" is not allowed, allowed are 0 to 59`},
		{"cron(0/+5 9 * * ? *)", `cron(0/+5 9 * * ? *): minutes: step "+5" is not a number from 1 to 59`},
		{"cron(1,,2 9 * * ? *)", `cron(1,,2 9 * * ? *): minutes: "" is not allowed, allowed are 0 to 59`},
	}
	for _, tt := range tests {
		if _, err := parseSchedule(tt.expression); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.expression, err, tt.want)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add("cron(0/5 9-17 L JAN,JUL ? 2026-2030)")
	f.Add("rate(7 hours)")
	f.Fuzz(func(t *testing.T, expression string) {
		s, err := parseSchedule(expression)
		if err != nil {
			return
		}
		now := time.Date(2026, 11, 22, 5, 7, 30, 0, time.UTC)
		next, err := s.next(now)
		if err == nil && !next.After(now) {
			t.Errorf("%s comes to %s", expression, next)
		}
	})
}
