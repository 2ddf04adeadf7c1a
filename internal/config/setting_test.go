package config_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/config"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0s": 0, "0": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "30d": 30 * day, "1d12h": 36 * time.Hour, "0d": 0, "-5s": -5 * time.Second,
		"1.5h": 90 * time.Minute, "250ms": 250 * time.Millisecond, "106751d": 106751 * day,
	} {
		got, err := config.ParseDuration(text)
		if err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
		again, err := config.ParseDuration(config.FormatDuration(got))
		if err != nil || again != got {
			t.Errorf("%v is written %s, which is %v, %v", got, config.FormatDuration(got), again, err)
		}
	}
	for _, text := range []string{"", "5", "soon", "1y", "d", "-1d", "1.5d", "1d-5h", "1h1d", "106752d", "106751d1000h", "1d1d", "1D", " 1s", "1 s"} {
		if got, err := config.ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Size{"0": 0, "1000": 1000, "1KiB": 1024, "1MiB": 1 << 20, "3 GiB": 3 << 30, "1025": 1025} {
		var got config.Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
		var again config.Size
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("%d is written %s", got, got)
		}
	}
	for _, text := range []string{"", "KiB", "-1", "1.5MiB", "1MB", "1mib", "9223372036854775808", "9000000000GiB"} {
		var got config.Size
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
