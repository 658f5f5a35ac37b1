package checkpoint

import "testing"

func TestParseName(t *testing.T) {
	const v, id = "00000000000000000010", "80a083e8-7026-4e79-81be-64bd76c43a11"
	good := map[string]Name{
		v + ".checkpoint.parquet":                       {Version: 10},
		v + ".checkpoint.0000000002.0000000003.parquet": {Version: 10, Part: 2, Parts: 3},
		v + ".checkpoint." + id + ".json":               {Version: 10, UUID: id, JSON: true},
		v + ".checkpoint." + id + ".parquet":            {Version: 10, UUID: id},
	}
	for s, want := range good {
		if got, ok := ParseName(s); !ok || got != want {
			t.Errorf("ParseName(%q) = %+v, %t, want %+v", s, got, ok, want)
		}
		if got := want.String(); got != s {
			t.Errorf("%+v.String() = %q, want %q", want, got, s)
		}
	}
	for _, s := range []string{
		"", "_last_checkpoint", v + ".json", v + ".checkpoint.json", v + ".checkpoint", "10.checkpoint.parquet",
		"." + v + ".checkpoint.parquet.crc", v + ".checkpoint.parquet.tmp", v + ".checkpoint.x.parquet",
		v + ".checkpoint.0000000004.0000000003.parquet", v + ".checkpoint.0000000000.0000000003.parquet",
		v + ".checkpoint.0000000001.9999999999.parquet", v + ".checkpoint.1.3.parquet",
		"99999999999999999999.checkpoint.parquet", "-0000000000000000001.checkpoint.parquet",
		v + ".checkpoint.0000000001.0000000003.json", v + ".checkpoint.{" + id + "}.json",
	} {
		if got, ok := ParseName(s); ok {
			t.Errorf("ParseName(%q) = %+v, want false", s, got)
		}
	}
}
