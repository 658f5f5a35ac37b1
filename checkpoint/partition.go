package checkpoint

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/deltaskip/deltaskip/colstats"
)

// maxPartitionText bounds the partition values of one batch.
const maxPartitionText = 256 << 20

// partitionTexts walk the map partitionValues of a row group.
type partitionTexts struct {
	key, value *cursor
	row        int64 // at hand
}

func (p *partitionTexts) close() {
	p.key.close()
	p.value.close()
}

// readPartitionTexts reads partitionValues for the kept rows in which no typed value can be used: there is none, or it is null, which
// may be a NULL or a text that could not be parsed.
func (b *batchReader) readPartitionTexts(raw *colstats.Raw) error {
	if b.g.key == nil {
		return nil
	}
	type wanted struct {
		demand  *colstats.RawDemand
		name    []byte
		builder *array.StringBuilder
	}
	var columns []wanted
	for i := range b.g.demands {
		d, r := &b.g.demands[i], &raw.Demands[i]
		if !d.column.Partition || r.Value != nil && r.Value.NullN() == 0 {
			continue
		}
		r.HasValueText = make([]uint64, (raw.Len+63)/64)
		columns = append(columns, wanted{r, []byte(d.column.Physical[0]), array.NewStringBuilder(b.c.o.Allocator)})
	}
	if len(columns) == 0 {
		return nil
	}
	defer func() {
		for _, w := range columns {
			w.demand.ValueText = w.builder.NewArray()
			w.builder.Release()
		}
	}()
	p, err := b.partitionTexts()
	if err != nil {
		return err
	}
	if err := p.seek(b.row); err != nil {
		return err
	}
	size, at := 0, 0
	for i := range b.rows {
		if !colstats.IsSet(b.keep, i) {
			if err := p.each(func(_, _ []byte, _ bool) {}); err != nil {
				return err
			}
			continue
		}
		err := p.each(func(key, value []byte, null bool) {
			for _, w := range columns {
				if !bytes.Equal(key, w.name) || colstats.IsSet(w.demand.HasValueText, at) || w.demand.Value != nil && w.demand.Value.IsValid(at) {
					continue
				}
				w.demand.HasValueText[at/64] |= 1 << (at % 64)
				if !null && size+len(value) <= maxPartitionText {
					w.builder.BinaryBuilder.Append(value)
				} else {
					w.builder.AppendNull()
				}
				size += len(value)
			}
		})
		if err != nil {
			return err
		}
		if size > maxPartitionText {
			return p.value.fail(corrupt("partition values of more than %d bytes in one batch", maxPartitionText))
		}
		at++
		for _, w := range columns {
			if w.builder.Len() < at {
				w.builder.AppendNull()
			}
		}
	}
	return nil
}

// partitionTexts returns the reader of the map.
func (r *pieceReader) partitionTexts() (*partitionTexts, error) {
	if r.texts == nil {
		p := &partitionTexts{key: &cursor{node: r.g.key}, value: &cursor{node: r.g.value}}
		p.key.open(r.g.part, r.g.chunk(r.g.key), r.c.o)
		p.value.open(r.g.part, r.g.chunk(r.g.value), r.c.o)
		r.texts = p
	}
	return r.texts, nil
}

// seek moves on to a row.
func (p *partitionTexts) seek(row int64) error {
	for p.row < row {
		if err := p.each(func(_, _ []byte, _ bool) {}); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for the entries of the map in the row at hand, and moves on to the next row.
func (p *partitionTexts) each(f func(key, value []byte, null bool)) error {
	p.row++
	for {
		hasKey, err := p.key.there()
		if err != nil {
			return err
		}
		hasValue, err := p.value.there()
		if err != nil {
			return err
		}
		if hasKey {
			var value []byte
			if hasValue {
				value = p.value.bytes()
			}
			f(p.key.bytes(), value, !hasValue)
		}
		p.key.next()
		p.value.next()
		again, err := p.key.repeats()
		if err != nil {
			return err
		}
		if too, err := p.value.repeats(); err != nil {
			return err
		} else if too != again {
			return p.value.fail(corrupt("not as many values as keys in a map"))
		}
		if again == 0 {
			return nil
		}
	}
}
