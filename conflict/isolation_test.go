package conflict

import (
	"strings"
	"testing"

	"github.com/deltaskip/deltaskip/action"
)

func TestIsolation(t *testing.T) {
	metadata := func(level string) string {
		if level == "" {
			return table()
		}
		return table(isolationProperty + "=" + level)
	}
	for _, tt := range []struct {
		name      string
		table     string
		actions   []string
		operation string
		level     Level
		source    string
	}{
		{"unset", "", []string{add("a")}, "WRITE", Serializable, "unset"},
		{"set", "WriteSerializable", []string{add("a")}, "WRITE", WriteSerializable, "table property"},
		{"set in another letter case", "writeserializable", []string{add("a")}, "WRITE", WriteSerializable, "table property"},
		{"nonsense is the strictest", "Chaos", []string{add("a")}, "WRITE", Serializable, `invalid value "Chaos"`},
		{"no table may be that weak", "SnapshotIsolation", []string{add("a")}, "WRITE", Serializable, "invalid value"},
		{"rearranging", "", []string{remove("a", `"dataChange":false`), add("b", `"dataChange":false`)}, "OPTIMIZE", SnapshotIsolation, "changes no data"},
		{"rearranging on a weaker table", "WriteSerializable", []string{add("b", `"dataChange":false`)}, "OPTIMIZE", SnapshotIsolation, "changes no data"},
		{"row tracking's own domain changes no data", "", []string{add("b", `"dataChange":false`), mark(4)}, "OPTIMIZE", SnapshotIsolation, "changes no data"},
		{"another domain does", "", []string{domain("d", "")}, "OPTIMIZE", Serializable, "unset"},
		{"metadata does", "", []string{table()}, "SET TBLPROPERTIES", Serializable, "unset"},
		{"a DELETE that found nothing", "", nil, "DELETE", SnapshotIsolation, "changes no data"},
		{"a DELETE that found nothing keeps a weaker table's level", "WriteSerializable", nil, "DELETE", WriteSerializable, "table property"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := parse(t, metadata(tt.table))[0].(*action.Metadata)
			got := TableIsolation(m).For(parse(t, tt.actions...), tt.operation)
			if got.Level != tt.level || !strings.Contains(got.Source, tt.source) {
				t.Errorf("%s, want %s (… %s …)", got, tt.level, tt.source)
			}
		})
	}
}
