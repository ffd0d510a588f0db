package sandbox

// Loss is what an engine of many hosts has done with a cell, or why it has no place for one.
type Loss string

// The losses that engines can tell apart.
const (
	LossNode          Loss = "node"          // the host on which it ran does not answer, or is gone
	LossEvicted       Loss = "evicted"       // it was taken off its host: a drain, a taint, a host that is short of something
	LossPreempted     Loss = "preempted"     // it had to make room for something more important
	LossDeleted       Loss = "deleted"       // somebody removed it
	LossUnschedulable Loss = "unschedulable" // no host takes it
	LossQuota         Loss = "quota"         // whoever it is made for may have no more of them
	LossDisk          Loss = "disk"          // it took more of its host's disk than it may, which is its own doing
)

// LostError says what became of a cell. It wraps [ErrUnavailable], for those who need not know more.
type LostError struct {
	Loss    Loss
	Message string // one line
}

// Error returns the engine's words.
func (e *LostError) Error() string { return e.Message }

// Unwrap returns [ErrUnavailable].
func (e *LostError) Unwrap() error { return ErrUnavailable }
