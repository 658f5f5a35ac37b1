package bench

// Statistics are the smallest structs that hold the statistics of a [Workload]'s file for a JSON library: dates and times stay
// text, decimals become floats. V and N are [Values2] and [Nulls2], or [Values16] and [Nulls16].
type Statistics[V, N any] struct {
	NumRecords *int64 `json:"numRecords"`
	MinValues  V      `json:"minValues"`
	MaxValues  V      `json:"maxValues"`
	NullCount  N      `json:"nullCount"`
}

type (
	// Values2 are the bounds of two columns.
	Values2 struct {
		ID *int64  `json:"id"`
		TS *string `json:"ts"`
	}
	// Nulls2 are the null counts of two columns.
	Nulls2 struct {
		ID *int64 `json:"id"`
		TS *int64 `json:"ts"`
	}
	// Values16 are the bounds of all sixteen columns.
	Values16 struct {
		ID        *int64   `json:"id"`
		TS        *string  `json:"ts"`
		Day       *string  `json:"day"`
		User      *string  `json:"user"`
		Country   *string  `json:"country"`
		Amount    *float64 `json:"amount"`
		Price     *float64 `json:"price"`
		Quantity  *int32   `json:"quantity"`
		Score     *float32 `json:"score"`
		Session   *string  `json:"session"`
		Latitude  *float64 `json:"latitude"`
		Longitude *float64 `json:"longitude"`
		Small     *int16   `json:"small"`
		Tiny      *int8    `json:"tiny"`
		Local     *string  `json:"local"`
		Sequence  *int64   `json:"sequence"`
	}
	// Nulls16 are the null counts of all sixteen columns.
	Nulls16 struct {
		ID, TS, Day, User, Country, Amount, Price, Quantity, Score, Session, Latitude, Longitude, Small, Tiny, Local, Sequence *int64
	}
)
