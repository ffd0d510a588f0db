package scale

import "time"

// Costs are what the parts that are not real take. [Installed] has them as they are measured, or as they come.
type Costs struct {
	Places int // cells that a node has room for at once

	// A kubelet starts so many pods at a time, and each takes Start in the middle, twice that in one of twenty.
	Starts int
	Start  time.Duration
	Gone   time.Duration // from the request that deletes a pod until its place is free

	Schedule time.Duration // the scheduler's, of one pod: it places one after the other
	Request  time.Duration // an answer of the API
	Requests int           // that a supervisor makes of the API in a second, and twice that at once: the driver's own limit

	NotReady time.Duration // until the cluster calls a node not ready that does not answer
	GiveUp   time.Duration // and from then on until the driver has the cluster forget its pods

	Fixed time.Duration // of a transaction of the database, which has one writer at a time
	Trip  time.Duration // of one statement within it

	Processors int           // of each supervisor
	Work       time.Duration // that a call takes of one of them
}

// The statements of changes: what a call costs the database beside its transactions.
const (
	tripsAccept = 2 // an earlier call of that request; the row
	tripsEnd    = 6 // the answer, the audit and its order, the index, the policy
	tripsNote   = 1
	tripsSay    = 1 // of the events of one call that are in one transaction
)

// What one call costs over Postgres on the machine that the rest of docs/scale.md was measured on: one after another, and
// where many share transactions (BenchmarkCall, BenchmarkCallsAtOnce of internal/store).
const (
	storeAlone   = 1540 * time.Microsecond
	storeAtOnce  = 1020 * time.Microsecond
	storeChanges = 2
)

// Installed are the costs of a cluster as it is installed: 50 pods a second are what the scheduler's client may bind by default.
func Installed() Costs {
	return Costs{
		Places: 8, Starts: 4, Start: 1500 * time.Millisecond, Gone: 500 * time.Millisecond,
		Schedule: time.Second / 50, Request: 10 * time.Millisecond, Requests: 200,
		NotReady: 50 * time.Second, GiveUp: 20 * time.Second,
		Fixed: (storeAlone - storeAtOnce) / storeChanges, Trip: storeAtOnce / (tripsAccept + tripsEnd),
		Processors: 2, Work: 14 * time.Millisecond,
	}
}

// Options say what is simulated.
type Options struct {
	Costs       Costs
	Nodes       int
	Supervisors int
	Pool        int           // cells that wait at each supervisor
	Elsewhere   int           // of these, that are started at a time
	Tenants     int           // that call; the first one makes half of all calls
	Load        float64       // of all places, that the calls would take if nothing else did
	Runs        time.Duration // what a skill takes, in the middle
	Warm        time.Duration // before anything is counted
	Window      time.Duration // that is counted
	Loses       float64       // share of the nodes that is lost at the middle of the window
	Seed        uint64
}
