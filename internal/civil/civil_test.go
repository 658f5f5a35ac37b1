package civil

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.Int64Range(-800_000, 3_000_000).Draw(t, "days")
		want := time.Unix(days*24*60*60, 0).UTC()
		year, month, day := Date(days)
		if int(year) != want.Year() || month != int(want.Month()) || day != want.Day() {
			t.Fatalf("%d is %d-%d-%d, want %s", days, year, month, day, want)
		}
		if back := Days(year, month, day); back != days {
			t.Fatalf("%d comes back as %d", days, back)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "days")
		if year, month, day := Date(days); Days(year, month, day) != days {
			t.Fatalf("%d comes back as %d", days, Days(year, month, day))
		}
	})
}
