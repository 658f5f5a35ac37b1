package action

import (
	"bytes"
	"strconv"

	"github.com/deltaskip/deltaskip/internal/jsonscan"
)

// CommitInfo says who made a commit and how. It is any JSON object; the accessors read the members that engines agree on
// and return the zero value or nil where a member is absent or of another type, for none of them may break a table.
type CommitInfo struct {
	Rest // Fields has all members, in the order of the log
}

func (c *CommitInfo) decode(d *decoder) {
	d.object(&c.Fields, func(string) bool { return false })
}

func (c *CommitInfo) encode(*encoder) {}

// Get returns a member's JSON, or nil. It belongs to c.
func (c *CommitInfo) Get(name string) []byte {
	if i := c.index(name); i >= 0 {
		return c.Fields[i].Value
	}
	return nil
}

// Set replaces or appends a member; value is JSON on one line and is kept, nil takes the member away.
func (c *CommitInfo) Set(name string, value []byte) {
	i := c.index(name)
	switch {
	case i < 0 && value != nil:
		c.Fields = append(c.Fields, Field{Name: name, Value: value})
	case i >= 0 && value != nil:
		c.Fields[i].Value = value
	case i >= 0:
		c.Fields = append(c.Fields[:i:i], c.Fields[i+1:]...)
	}
}

// SetString is [CommitInfo.Set] with a string.
func (c *CommitInfo) SetString(name, value string) { c.Set(name, jsonscan.Quote(nil, value)) }

// SetInt is [CommitInfo.Set] with an integer.
func (c *CommitInfo) SetInt(name string, value int64) { c.Set(name, strconv.AppendInt(nil, value, 10)) }

// SetBool is [CommitInfo.Set] with a boolean.
func (c *CommitInfo) SetBool(name string, value bool) {
	c.Set(name, strconv.AppendBool(nil, value))
}

// index finds the last member of a name: it is the one that readers of duplicates see.
func (c *CommitInfo) index(name string) int {
	for i := len(c.Fields) - 1; i >= 0; i-- {
		if c.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Operation is the kind of work done, such as "WRITE" or "MERGE".
func (c *CommitInfo) Operation() string { return c.text("operation") }

// IsolationLevel is the level that the commit was checked at.
func (c *CommitInfo) IsolationLevel() string { return c.text("isolationLevel") }

// EngineInfo names the program that wrote the commit.
func (c *CommitInfo) EngineInfo() string { return c.text("engineInfo") }

// TxnID identifies the transaction, the same over all attempts to commit it.
func (c *CommitInfo) TxnID() string { return c.text("txnId") }

// ReadVersion is the version that the transaction read.
func (c *CommitInfo) ReadVersion() *int64 { return c.int64("readVersion") }

// Timestamp is the writer's time in milliseconds since 1970-01-01T00:00:00Z.
func (c *CommitInfo) Timestamp() *int64 { return c.int64("timestamp") }

// InCommitTimestamp is the commit's own time in milliseconds since 1970-01-01T00:00:00Z, on tables that have them.
func (c *CommitInfo) InCommitTimestamp() *int64 { return c.int64("inCommitTimestamp") }

// IsBlindAppend says whether the transaction appended without reading the table; nil when it doesn't say.
func (c *CommitInfo) IsBlindAppend() *bool {
	switch string(c.Get("isBlindAppend")) {
	case "true":
		return ptr(true)
	case "false":
		return ptr(false)
	}
	return nil
}

// OperationParameters are the operation's details by name. Strings are unquoted, which often leaves JSON; other values are
// JSON as they stand.
func (c *CommitInfo) OperationParameters() map[string]string { return c.texts("operationParameters") }

// Tags are the commit's tags, as [CommitInfo.OperationParameters].
func (c *CommitInfo) Tags() map[string]string { return c.texts("tags") }

func (c *CommitInfo) text(name string) string {
	s, _ := unquote(c.Get(name))
	return s
}

func (c *CommitInfo) int64(name string) *int64 {
	v, err := strconv.ParseInt(string(c.Get(name)), 10, 64)
	if err != nil {
		return nil
	}
	return &v
}

func (c *CommitInfo) texts(name string) map[string]string {
	value := c.Get(name)
	if !bytes.HasPrefix(value, []byte("{")) {
		return nil
	}
	texts := map[string]string{}
	_, err := jsonscan.Object(value, 0, func(key []byte, start, end int) error {
		if s, ok := unquote(value[start:end]); ok {
			texts[string(key)] = s
		} else {
			texts[string(key)] = string(value[start:end])
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return texts
}

// unquote returns the characters of a JSON string literal, and whether value is one.
func unquote(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	s, err := jsonscan.Unquote(nil, value, 0, len(value))
	return string(s), err == nil
}

func ptr[T any](v T) *T { return &v }
