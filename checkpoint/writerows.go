package checkpoint

import (
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/deltaskip/deltaskip/action"
	"github.com/deltaskip/deltaskip/colstats"
)

// The columns of a checkpoint (protocol, "Checkpoint Schema").

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func structOf(name string, fields ...arrow.Field) arrow.Field {
	return field(name, arrow.StructOf(fields...))
}

var (
	stringType = arrow.BinaryTypes.String
	longType   = arrow.PrimitiveTypes.Int64
	intType    = arrow.PrimitiveTypes.Int32
	boolType   = arrow.FixedWidthTypes.Boolean
	stringMap  = arrow.MapOf(stringType, stringType)
	stringList = arrow.ListOfField(field("element", stringType))

	vectorField = structOf("deletionVector", field("storageType", stringType), field("pathOrInlineDv", stringType),
		field("offset", intType), field("sizeInBytes", intType), field("cardinality", longType))
	removeField = structOf("remove", field("path", stringType), field("deletionTimestamp", longType), field("dataChange", boolType),
		field("extendedFileMetadata", boolType), field("partitionValues", stringMap), field("size", longType), vectorField,
		field("baseRowId", longType), field("defaultRowCommitVersion", longType))
	metadataField = structOf("metaData", field("id", stringType), field("name", stringType), field("description", stringType),
		structOf("format", field("provider", stringType), field("options", stringMap)), field("schemaString", stringType),
		field("partitionColumns", stringList), field("createdTime", longType), field("configuration", stringMap))
	protocolField = structOf("protocol", field("minReaderVersion", intType), field("minWriterVersion", intType),
		field("readerFeatures", stringList), field("writerFeatures", stringList))
	txnField            = structOf("txn", field("appId", stringType), field("version", longType), field("lastUpdated", longType))
	domainMetadataField = structOf("domainMetadata", field("domain", stringType), field("configuration", stringType),
		field("removed", boolType))
)

// addField is the column of adds. Which statistics it has depends on the table.
func (w *writer) addField() arrow.Field {
	fields := []arrow.Field{
		field("path", stringType), field("partitionValues", stringMap), field("size", longType), field("modificationTime", longType),
		field("dataChange", boolType), field("tags", stringMap), vectorField, field("baseRowId", longType),
		field("defaultRowCommitVersion", longType), field("clusteringProvider", stringType),
	}
	if w.json {
		fields = append(fields, field("stats", stringType))
	}
	if w.tree != nil {
		if p := w.tree.partitionField(); p != nil {
			fields = append(fields, *p)
		}
		fields = append(fields, field("stats_parsed", w.tree.root.arrowType()))
	}
	return structOf("add", fields...)
}

// A row appends the fields of an action one after the other, in the order of its columns.
type row struct {
	b    *array.StructBuilder
	next int
}

func (r *row) builder() array.Builder {
	r.next++
	return r.b.FieldBuilder(r.next - 1)
}

func (r *row) string(v string) { r.builder().(*array.StringBuilder).Append(v) }
func (r *row) long(v int64)    { r.builder().(*array.Int64Builder).Append(v) }
func (r *row) int(v int32)     { r.builder().(*array.Int32Builder).Append(v) }
func (r *row) bool(v bool)     { r.builder().(*array.BooleanBuilder).Append(v) }
func (r *row) null()           { r.builder().AppendNull() }
func (r *row) group() (sub *row) {
	b := r.builder().(*array.StructBuilder)
	b.Append(true)
	return &row{b: b}
}

// optional appends what p points to, or null.
func optional[T any](r *row, appendValue func(T), p *T) {
	if p == nil {
		r.null()
		return
	}
	appendValue(*p)
}

// text appends s, or null when it is empty.
func (r *row) text(s string) {
	if s == "" {
		r.null()
		return
	}
	r.string(s)
}

// strings appends a list, or null when it is nil.
func (r *row) strings(list []string) {
	b := r.builder().(*array.ListBuilder)
	if list == nil {
		b.AppendNull()
		return
	}
	b.Append(true)
	for _, s := range list {
		b.ValueBuilder().(*array.StringBuilder).Append(s)
	}
}

// mapping appends a map, or null when it is nil. Its order is always the same.
func (r *row) mapping(m map[string]*string) {
	b := r.builder().(*array.MapBuilder)
	if m == nil {
		b.AppendNull()
		return
	}
	b.Append(true)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.KeyBuilder().(*array.StringBuilder).Append(k)
		if v := m[k]; v != nil {
			b.ItemBuilder().(*array.StringBuilder).Append(*v)
		} else {
			b.ItemBuilder().AppendNull()
		}
	}
}

func (r *row) vector(v *action.DeletionVector) {
	if v == nil {
		r.null()
		return
	}
	g := r.group()
	g.string(v.StorageType)
	g.string(v.PathOrInlineDV)
	optional(g, g.int, v.Offset)
	g.int(v.SizeInBytes)
	g.long(v.Cardinality)
}

// add appends an add; facts are those about its partition values, of which row i is its own.
func (w *writer) add(r *row, a *action.Add, facts *colstats.Batch, i int) error {
	r.string(a.Path)
	r.mapping(a.PartitionValues)
	r.long(a.Size)
	r.long(a.ModificationTime)
	r.bool(a.DataChange)
	r.mapping(a.Tags)
	r.vector(a.DeletionVector)
	optional(r, r.long, a.BaseRowID)
	optional(r, r.long, a.DefaultRowCommitVersion)
	optional(r, r.string, a.ClusteringProvider)
	if w.json {
		r.text(a.Stats)
	}
	if w.tree != nil {
		if len(w.tree.partitions) > 0 {
			if err := w.tree.appendPartitions(r.group(), facts, i); err != nil {
				return err
			}
		}
		w.tree.append(r.builder().(*array.StructBuilder), a.Stats)
	}
	return nil
}

func (r *row) remove(a *action.Remove) {
	r.string(a.Path)
	optional(r, r.long, a.DeletionTimestamp)
	r.bool(a.DataChange)
	optional(r, r.bool, a.ExtendedFileMetadata)
	r.mapping(a.PartitionValues)
	optional(r, r.long, a.Size)
	r.vector(a.DeletionVector)
	optional(r, r.long, a.BaseRowID)
	optional(r, r.long, a.DefaultRowCommitVersion)
}

func (r *row) metadata(a *action.Metadata) {
	r.string(a.ID)
	optional(r, r.string, a.TableName)
	optional(r, r.string, a.Description)
	format := r.group()
	format.string(a.Format.Provider)
	format.mapping(pointers(a.Format.Options))
	r.text(a.SchemaString)
	r.strings(append([]string{}, a.PartitionColumns...))
	optional(r, r.long, a.CreatedTime)
	r.mapping(pointers(a.Configuration))
}

// pointers gives a map without nulls the form of one with them. It is never nil: readers want these maps.
func pointers(m map[string]string) map[string]*string {
	p := make(map[string]*string, len(m))
	for k, v := range m {
		p[k] = &v
	}
	return p
}

// protocol writes the feature lists where the versions ask for them, and only there (protocol, "Checkpoint Schema").
func (r *row) protocol(a *action.Protocol) {
	r.int(int32(a.MinReaderVersion))
	r.int(int32(a.MinWriterVersion))
	features := func(version, from int, list []string) []string {
		if version < from {
			return nil
		}
		return append([]string{}, list...)
	}
	r.strings(features(a.MinReaderVersion, 3, a.ReaderFeatures))
	r.strings(features(a.MinWriterVersion, 7, a.WriterFeatures))
}

func (r *row) txn(a *action.Txn) {
	r.string(a.AppID)
	r.long(a.Version)
	optional(r, r.long, a.LastUpdated)
}

func (r *row) domainMetadata(a *action.DomainMetadata) {
	r.string(a.Domain)
	r.string(a.Configuration)
	r.bool(a.Removed)
}
