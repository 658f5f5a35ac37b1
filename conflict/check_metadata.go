package conflict

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/deltaskip/deltaskip/action"
)

// Tags of commitInfo that say why a commit writes metadata, or what it did to row tracking.
const (
	identityOnlyTag         = "delta.identity.schemaUpdate"
	rowTrackingPreservedTag = "delta.rowTracking.preserved"
)

// Table properties that the checks know by name.
const (
	propRowTracking          = "delta.enableRowTracking"
	propRowTrackingSuspended = "delta.rowTrackingSuspended"
	propRowIDColumn          = "delta.rowTracking.materializedRowIdColumnName"
	propRowVersionColumn     = "delta.rowTracking.materializedRowCommitVersionColumnName"
	propColumnMappingMode    = "delta.columnMapping.mode"
	propColumnMappingMaxID   = "delta.columnMapping.maxColumnId"
	propDeletionVectors      = "delta.enableDeletionVectors"
	propCheckpointPolicy     = "delta.checkpointPolicy"
	propInCommitTimestamps   = "delta.enableInCommitTimestamps"
	propTimestampsVersion    = "delta.inCommitTimestampEnablementVersion"
	propTimestampsTimestamp  = "delta.inCommitTimestampEnablementTimestamp"
	propTypeWidening         = "delta.enableTypeWidening"
	propCatalogTableID       = "io.unitycatalog.tableId"
)

// checkMetadata lets a winner's metadata pass when it asks nothing of the loser's commit, and adopts it then: the winner
// only moved the high-water marks of identity columns, or only enabled features that a commit prepared without them may
// be committed under. Everything else conflicts.
func checkMetadata(c *candidate, w *winner) error {
	theirs := w.Metadata
	if theirs == nil {
		return nil
	}
	if c.changesMetadata {
		f := c.conflict(w, MetadataChanged, MetadataChangeBoth)
		f.Metadata = tableDifferences(c.txn.Metadata, theirs)
		own := first[*action.Metadata](c.actions)
		f.Repeats = own != nil && c.txn.Metadata != nil && len(tableDifferences(c.txn.Metadata, own)) == 0
		return f
	}
	diffs := tableDifferences(c.metadata, theirs)
	if w.tag(identityOnlyTag) == "true" && onlyIdentityMarks(diffs, c.metadata, theirs) {
		return nil // as in Delta the marks are not adopted: a transaction without metadata never writes them
	}
	for _, d := range diffs {
		if !adoptable(c, d, theirs) {
			f := c.conflict(w, MetadataChanged, MetadataChange)
			f.Metadata = diffs
			return f
		}
	}
	if slices.ContainsFunc(diffs, func(d Difference) bool { return d.Field == propRowTracking }) {
		// Rows written before row tracking was enabled have no ids to preserve.
		setTag(c.info, rowTrackingPreservedTag, "false")
	}
	c.metadata = theirs
	return nil
}

// adoptable reports whether a commit prepared under c's metadata may be committed under theirs as far as d goes.
func adoptable(c *candidate, d Difference, theirs *action.Metadata) bool {
	if d.Field == "schemaString" {
		return mappingEnabled(c, theirs) && onlyMappingAdded(d.Was, d.Now)
	}
	_, was := c.metadata.Configuration[d.Field]
	now, is := theirs.Configuration[d.Field]
	if !is { // no table property, or one that was taken away
		return false
	}
	turnsOn := strings.EqualFold(now, "true")
	switch d.Field {
	case propRowTracking:
		return turnsOn && supports(c.protocol, "rowTracking")
	case propRowIDColumn, propRowVersionColumn:
		return enabled(theirs, propRowTracking)
	case propColumnMappingMode:
		return mappingEnabled(c, theirs)
	case propColumnMappingMaxID:
		return true
	case propDeletionVectors:
		return turnsOn && supports(c.protocol, "deletionVectors")
	case propCheckpointPolicy:
		return now == "v2" && supports(c.protocol, "v2Checkpoint")
	case propInCommitTimestamps:
		return turnsOn && supports(c.protocol, "inCommitTimestamp")
	case propTimestampsVersion, propTimestampsTimestamp:
		return !was
	case propCatalogTableID:
		return !was || !supports(c.protocol, "catalogManaged")
	}
	return false
}

// mappingEnabled reports whether theirs turns column mapping by name on: the only change of its mode that leaves the
// names in data files and statistics as they are.
func mappingEnabled(c *candidate, theirs *action.Metadata) bool {
	mode := func(m *action.Metadata) string { return strings.ToLower(m.Configuration[propColumnMappingMode]) }
	was := mode(c.metadata)
	return (was == "" || was == "none") && mode(theirs) == "name" && supports(c.protocol, "columnMapping")
}

// mappingKeys are the members of a column's metadata that enabling column mapping adds.
var mappingKeys = []string{
	"delta.columnMapping.id", "delta.columnMapping.physicalName", "delta.columnMapping.nested.ids",
	"parquet.field.id", "parquet.field.nested.ids",
}

// A column is a member of a schema's root as far as two schemas are compared.
type column struct {
	Name     string
	Type     any
	Nullable bool
	Metadata map[string]any
}

func columnsOf(schemaString string) ([]column, error) {
	d := json.NewDecoder(strings.NewReader(schemaString))
	d.UseNumber()
	var s struct{ Fields []column }
	err := d.Decode(&s)
	return s.Fields, err
}

// onlyMappingAdded reports whether two schemas differ in nothing but column mapping's own metadata of the top-level
// columns. Nested columns that got any make it false, as in Delta.
func onlyMappingAdded(was, now string) bool {
	return onlyColumnMetadataDiffers(was, now, func(key string) bool { return slices.Contains(mappingKeys, key) })
}

const identityMarkKey = "delta.identity.highWaterMark"

// onlyIdentityMarks reports whether the differences are nothing but high-water marks of identity columns. The winner's
// tag is not taken at its word.
func onlyIdentityMarks(diffs []Difference, was, now *action.Metadata) bool {
	return len(diffs) == 0 || len(diffs) == 1 && diffs[0].Field == "schemaString" &&
		onlyColumnMetadataDiffers(was.SchemaString, now.SchemaString, func(key string) bool { return key == identityMarkKey })
}

func onlyColumnMetadataDiffers(was, now string, allowed func(key string) bool) bool {
	a, errA := columnsOf(was)
	b, errB := columnsOf(now)
	if errA != nil || errB != nil || len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Nullable != b[i].Nullable || !reflect.DeepEqual(a[i].Type, b[i].Type) {
			return false
		}
		for _, m := range []map[string]any{a[i].Metadata, b[i].Metadata} {
			for key := range m {
				if !allowed(key) && !reflect.DeepEqual(a[i].Metadata[key], b[i].Metadata[key]) {
					return false
				}
			}
		}
	}
	return true
}

// tableDifferences lists what differs between two versions of a table's metadata: members of the action by their names,
// then table properties by theirs, in alphabetical order.
func tableDifferences(was, now *action.Metadata) []Difference {
	if was == nil {
		was = &action.Metadata{}
	}
	var diffs []Difference
	add := func(field, was, now string) {
		if was != now {
			diffs = append(diffs, Difference{field, was, now})
		}
	}
	add("id", was.ID, now.ID)
	add("name", textOf(was.TableName), textOf(now.TableName))
	add("description", textOf(was.Description), textOf(now.Description))
	add("format", jsonOf(was.Format), jsonOf(now.Format))
	add("schemaString", was.SchemaString, now.SchemaString)
	add("partitionColumns", jsonOf(was.PartitionColumns), jsonOf(now.PartitionColumns))
	add("createdTime", numberOf(was.CreatedTime), numberOf(now.CreatedTime))
	add("unknown members", membersOf(was.Fields), membersOf(now.Fields))

	keys := maps.Clone(was.Configuration)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, now.Configuration)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		before, had := was.Configuration[key]
		after, has := now.Configuration[key]
		if before != after || had != has {
			diffs = append(diffs, Difference{key, before, after})
		}
	}
	return diffs
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func numberOf(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func jsonOf(v any) string {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && r.Len() == 0 {
		return "[]" // nil or empty
	}
	text, _ := json.Marshal(v) // strings, slices and maps of strings marshal
	return string(text)
}

func membersOf(fields []action.Field) string {
	var b bytes.Buffer
	for _, f := range slices.SortedFunc(slices.Values(fields), func(a, b action.Field) int { return strings.Compare(a.Name, b.Name) }) {
		b.WriteString(f.Name + "=" + string(f.Value) + " ")
	}
	return strings.TrimSpace(b.String())
}
