package checkpoint

// A LastCheckpoint is what the file _delta_log/_last_checkpoint says (protocol, "Last Checkpoint File Schema"). It is a
// hint: the checkpoint it names may be gone, and newer ones may exist.
type LastCheckpoint struct {
	Version     int64
	Size        int64 // actions
	Parts       int   // 0 unless multi-part
	SizeInBytes int64
	NumAdds     int64
}

// ParseLastCheckpoint reads the file's text. It fails with an error that matches [ErrCorrupt] for text that is no JSON,
// lacks a version, or has a checksum that does not fit.
func ParseLastCheckpoint(text []byte) (*LastCheckpoint, error) { panic("TODO") }

// Append appends the file's text, checksum included.
func (l *LastCheckpoint) Append(dst []byte) []byte { panic("TODO") }
