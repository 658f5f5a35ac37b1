package action

// How each action is read and written, side by side. The order of names in encode is that of the protocol's tables.

func (a *Add) decode(d *decoder) {
	seen := false
	d.object(&a.Fields, func(name string) bool {
		switch name {
		case "path":
			d.string(&a.Path)
			seen = true
		case "partitionValues":
			d.stringMap(&a.PartitionValues)
		case "size":
			d.int64(&a.Size)
		case "modificationTime":
			d.int64(&a.ModificationTime)
		case "dataChange":
			d.bool(&a.DataChange)
		case "stats":
			d.stats(&a.Stats)
		case "tags":
			d.stringMap(&a.Tags)
		case "deletionVector":
			d.deletionVector(&a.DeletionVector)
		case "baseRowId":
			d.optionalInt64(&a.BaseRowID)
		case "defaultRowCommitVersion":
			d.optionalInt64(&a.DefaultRowCommitVersion)
		case "clusteringProvider":
			d.optionalString(&a.ClusteringProvider)
		default:
			return false
		}
		return true
	})
	d.require(seen, "path")
}

func (a *Add) encode(e *encoder) {
	e.string("path", a.Path)
	e.stringMap("partitionValues", a.PartitionValues)
	e.int64("size", a.Size)
	e.int64("modificationTime", a.ModificationTime)
	e.bool("dataChange", a.DataChange)
	if a.Stats != "" {
		e.string("stats", a.Stats)
	}
	e.optionalMap("tags", a.Tags)
	e.deletionVector(a.DeletionVector)
	e.optionalInt64("baseRowId", a.BaseRowID)
	e.optionalInt64("defaultRowCommitVersion", a.DefaultRowCommitVersion)
	e.optionalString("clusteringProvider", a.ClusteringProvider)
}

func (r *Remove) decode(d *decoder) {
	seen := false
	d.object(&r.Fields, func(name string) bool {
		switch name {
		case "path":
			d.string(&r.Path)
			seen = true
		case "deletionTimestamp":
			d.optionalInt64(&r.DeletionTimestamp)
		case "dataChange":
			d.bool(&r.DataChange)
		case "extendedFileMetadata":
			var v bool
			d.bool(&v)
			r.ExtendedFileMetadata = &v
		case "partitionValues":
			d.stringMap(&r.PartitionValues)
		case "size":
			d.optionalInt64(&r.Size)
		case "stats":
			d.stats(&r.Stats)
		case "tags":
			d.stringMap(&r.Tags)
		case "deletionVector":
			d.deletionVector(&r.DeletionVector)
		case "baseRowId":
			d.optionalInt64(&r.BaseRowID)
		case "defaultRowCommitVersion":
			d.optionalInt64(&r.DefaultRowCommitVersion)
		default:
			return false
		}
		return true
	})
	d.require(seen, "path")
}

func (r *Remove) encode(e *encoder) {
	e.string("path", r.Path)
	e.optionalInt64("deletionTimestamp", r.DeletionTimestamp)
	e.bool("dataChange", r.DataChange)
	if r.ExtendedFileMetadata != nil {
		e.bool("extendedFileMetadata", *r.ExtendedFileMetadata)
	}
	e.optionalMap("partitionValues", r.PartitionValues)
	e.optionalInt64("size", r.Size)
	if r.Stats != "" {
		e.string("stats", r.Stats)
	}
	e.optionalMap("tags", r.Tags)
	e.deletionVector(r.DeletionVector)
	e.optionalInt64("baseRowId", r.BaseRowID)
	e.optionalInt64("defaultRowCommitVersion", r.DefaultRowCommitVersion)
}

func (c *CDC) decode(d *decoder) {
	seen := false
	d.object(&c.Fields, func(name string) bool {
		switch name {
		case "path":
			d.string(&c.Path)
			seen = true
		case "partitionValues":
			d.stringMap(&c.PartitionValues)
		case "size":
			d.int64(&c.Size)
		case "dataChange":
			d.bool(&c.DataChange)
		case "tags":
			d.stringMap(&c.Tags)
		default:
			return false
		}
		return true
	})
	d.require(seen, "path")
}

func (c *CDC) encode(e *encoder) {
	e.string("path", c.Path)
	e.stringMap("partitionValues", c.PartitionValues)
	e.int64("size", c.Size)
	e.bool("dataChange", c.DataChange)
	e.optionalMap("tags", c.Tags)
}

func (m *Metadata) decode(d *decoder) {
	d.object(&m.Fields, func(name string) bool {
		switch name {
		case "id":
			d.string(&m.ID)
		case "name":
			d.optionalString(&m.TableName)
		case "description":
			d.optionalString(&m.Description)
		case "format":
			d.object(&m.Format.Fields, func(name string) bool {
				switch name {
				case "provider":
					d.string(&m.Format.Provider)
				case "options":
					d.settings(&m.Format.Options)
				default:
					return false
				}
				return true
			})
		case "schemaString":
			d.string(&m.SchemaString)
		case "partitionColumns":
			d.strings(&m.PartitionColumns)
		case "configuration":
			d.settings(&m.Configuration)
		case "createdTime":
			d.optionalInt64(&m.CreatedTime)
		default:
			return false
		}
		return true
	})
}

func (m *Metadata) encode(e *encoder) {
	e.string("id", m.ID)
	e.optionalString("name", m.TableName)
	e.optionalString("description", m.Description)
	e.object("format", func() {
		e.string("provider", m.Format.Provider)
		e.settings("options", m.Format.Options)
		e.fields(m.Format.Fields)
	})
	if m.SchemaString != "" {
		e.string("schemaString", m.SchemaString)
	}
	e.strings("partitionColumns", m.PartitionColumns)
	e.settings("configuration", m.Configuration)
	e.optionalInt64("createdTime", m.CreatedTime)
}

func (p *Protocol) decode(d *decoder) {
	var reader, writer bool
	d.object(&p.Fields, func(name string) bool {
		switch name {
		case "minReaderVersion":
			d.int(&p.MinReaderVersion)
			reader = true
		case "minWriterVersion":
			d.int(&p.MinWriterVersion)
			writer = true
		case "readerFeatures":
			d.strings(&p.ReaderFeatures)
		case "writerFeatures":
			d.strings(&p.WriterFeatures)
		default:
			return false
		}
		return true
	})
	d.require(reader, "minReaderVersion")
	d.require(writer, "minWriterVersion")
}

func (p *Protocol) encode(e *encoder) {
	e.int64("minReaderVersion", int64(p.MinReaderVersion))
	e.int64("minWriterVersion", int64(p.MinWriterVersion))
	if p.ReaderFeatures != nil {
		e.strings("readerFeatures", p.ReaderFeatures)
	}
	if p.WriterFeatures != nil {
		e.strings("writerFeatures", p.WriterFeatures)
	}
}

func (t *Txn) decode(d *decoder) {
	var app, version bool
	d.object(&t.Fields, func(name string) bool {
		switch name {
		case "appId":
			d.string(&t.AppID)
			app = true
		case "version":
			d.int64(&t.Version)
			version = true
		case "lastUpdated":
			d.optionalInt64(&t.LastUpdated)
		default:
			return false
		}
		return true
	})
	d.require(app, "appId")
	d.require(version, "version")
}

func (t *Txn) encode(e *encoder) {
	e.string("appId", t.AppID)
	e.int64("version", t.Version)
	e.optionalInt64("lastUpdated", t.LastUpdated)
}

func (m *DomainMetadata) decode(d *decoder) {
	seen := false
	d.object(&m.Fields, func(name string) bool {
		switch name {
		case "domain":
			d.string(&m.Domain)
			seen = true
		case "configuration":
			d.string(&m.Configuration)
		case "removed":
			d.bool(&m.Removed)
		default:
			return false
		}
		return true
	})
	d.require(seen, "domain")
}

func (m *DomainMetadata) encode(e *encoder) {
	e.string("domain", m.Domain)
	e.string("configuration", m.Configuration)
	e.bool("removed", m.Removed)
}

func (s *Sidecar) decode(d *decoder) {
	seen := false
	d.object(&s.Fields, func(name string) bool {
		switch name {
		case "path":
			d.string(&s.Path)
			seen = true
		case "sizeInBytes":
			d.int64(&s.SizeInBytes)
		case "modificationTime":
			d.int64(&s.ModificationTime)
		case "tags":
			d.stringMap(&s.Tags)
		default:
			return false
		}
		return true
	})
	d.require(seen, "path")
}

func (s *Sidecar) encode(e *encoder) {
	e.string("path", s.Path)
	e.int64("sizeInBytes", s.SizeInBytes)
	e.int64("modificationTime", s.ModificationTime)
	e.optionalMap("tags", s.Tags)
}

func (c *CheckpointMetadata) decode(d *decoder) {
	seen := false
	d.object(&c.Fields, func(name string) bool {
		switch name {
		case "version":
			d.int64(&c.Version)
			seen = true
		case "tags":
			d.stringMap(&c.Tags)
		default:
			return false
		}
		return true
	})
	d.require(seen, "version")
}

func (c *CheckpointMetadata) encode(e *encoder) {
	e.int64("version", c.Version)
	e.optionalMap("tags", c.Tags)
}

func (u *Unknown) decode(*decoder) {}
func (u *Unknown) encode(*encoder) {}

func (d *decoder) require(seen bool, name string) {
	if !seen {
		d.fail("%s is missing", name)
	}
}

// stats reads statistics. What is not a string is no statistics.
func (d *decoder) stats(to *string) {
	if d.text[d.at] == '"' {
		d.string(to)
	}
}

func (d *decoder) deletionVector(to **DeletionVector) {
	v := &DeletionVector{}
	d.object(&v.Fields, func(name string) bool {
		switch name {
		case "storageType":
			d.string(&v.StorageType)
		case "pathOrInlineDv":
			d.string(&v.PathOrInlineDV)
		case "offset":
			var offset int32
			if d.int32(&offset); offset < 0 {
				d.fail("a negative offset")
			}
			v.Offset = &offset
		case "sizeInBytes":
			d.int32(&v.SizeInBytes)
		case "cardinality":
			d.int64(&v.Cardinality)
		default:
			return false
		}
		return true
	})
	d.require(v.StorageType != "", "storageType")
	d.require(v.PathOrInlineDV != "", "pathOrInlineDv")
	*to = v
}

func (e *encoder) deletionVector(v *DeletionVector) {
	if v == nil {
		return
	}
	e.object("deletionVector", func() {
		e.string("storageType", v.StorageType)
		e.string("pathOrInlineDv", v.PathOrInlineDV)
		if v.Offset != nil {
			e.int64("offset", int64(*v.Offset))
		}
		e.int64("sizeInBytes", int64(v.SizeInBytes))
		e.int64("cardinality", v.Cardinality)
		e.fields(v.Fields)
	})
}
