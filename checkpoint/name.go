package checkpoint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// A Name is the name of a checkpoint's top-level file, taken apart (protocol, "Checkpoint Naming Scheme").
type Name struct {
	Version     int64
	Part, Parts int    // of a multi-part checkpoint, 1 ≤ Part ≤ Parts; both 0 for other shapes
	UUID        string // of a UUID-named V2 checkpoint, else empty
	JSON        bool   // a UUID-named file in JSON
}

// ParseName takes apart a file name without its folder. It reports false for anything but a checkpoint's top-level file.
func ParseName(base string) (Name, bool) {
	fields := strings.Split(base, ".")
	if len(fields) < 3 || fields[1] != "checkpoint" {
		return Name{}, false
	}
	version, ok := digits(fields[0], 20)
	if !ok {
		return Name{}, false
	}
	n := Name{Version: version}
	ext := fields[len(fields)-1]
	switch middle := fields[2 : len(fields)-1]; {
	case len(middle) == 0 && ext == "parquet":
		return n, true
	case len(middle) == 1 && (ext == "parquet" || ext == "json"):
		if len(middle[0]) != 36 || uuid.Validate(middle[0]) != nil {
			return Name{}, false
		}
		n.UUID, n.JSON = middle[0], ext == "json"
		return n, true
	case len(middle) == 2 && ext == "parquet":
		part, ok1 := digits(middle[0], 10)
		parts, ok2 := digits(middle[1], 10)
		if !ok1 || !ok2 || part < 1 || part > parts || parts > 1<<31-1 {
			return Name{}, false
		}
		n.Part, n.Parts = int(part), int(parts)
		return n, true
	}
	return Name{}, false
}

// digits parses exactly n decimal digits.
func digits(s string, n int) (int64, bool) {
	if len(s) != n || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

// String returns the file name that parses to n.
func (n Name) String() string {
	switch {
	case n.Parts > 0:
		return fmt.Sprintf("%020d.checkpoint.%010d.%010d.parquet", n.Version, n.Part, n.Parts)
	case n.UUID != "" && n.JSON:
		return fmt.Sprintf("%020d.checkpoint.%s.json", n.Version, n.UUID)
	case n.UUID != "":
		return fmt.Sprintf("%020d.checkpoint.%s.parquet", n.Version, n.UUID)
	}
	return fmt.Sprintf("%020d.checkpoint.parquet", n.Version)
}
