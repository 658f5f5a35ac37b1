package conflict

import (
	"testing"

	"github.com/deltaskip/deltaskip/deltalog"
	"github.com/deltaskip/deltaskip/logstore"
)

func TestHolds(t *testing.T) {
	for _, tt := range []struct {
		name, commit, id string
		holds            bool
	}{
		{"its own id", `{"commitInfo":{"txnId":"a"}}`, "a", true},
		{"another's", `{"commitInfo":{"txnId":"b"}}`, "a", false},
		{"a member of a group", `{"commitInfo":{"txnId":"g","deltaskip.members":["b","a"]}}`, "a", true},
		{"members that are no list", `{"commitInfo":{"txnId":"g","deltaskip.members":"a"}}`, "a", false},
		{"no id is nobody's", `{"commitInfo":{}}`, "", false},
		{"no commitInfo", `{"txn":{"appId":"a","version":1}}`, "a", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := deltalog.ParseCommit(3, logstore.Entry{}, []byte(tt.commit))
			if err != nil {
				t.Fatal(err)
			}
			if Holds(c, tt.id) != tt.holds {
				t.Errorf("holds %q: %t", tt.id, !tt.holds)
			}
		})
	}
}
