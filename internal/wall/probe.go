package wall

// ProbeFlag makes the runner's program look around and print what it sees, a [Probe] in JSON, instead of running a life. A
// skill whose command is [ProbeCommand] shows what a skill's process really is.
const ProbeFlag = "-probe"

// ProbeCommand returns the command of a skill that is the runner's program looking around.
func ProbeCommand() []string { return []string{RunnerPath, ProbeFlag} }

// Probe is a cell as a process in it sees it. Limits are -1 where they can't be read, 0 where there is none.
type Probe struct {
	UID        int               `json:"uid"`
	GID        int               `json:"gid"`
	Groups     []int             `json:"groups"`
	Status     map[string]string `json:"status"`     // of /proc/self/status: CapEff, NoNewPrivs, Seccomp, ...
	Mounts     []ProbeMount      `json:"mounts"`     // what is mounted, in order
	Interfaces []string          `json:"interfaces"` // of the network
	Processes  int               `json:"processes"`  // that can be seen
	Memory     int64             `json:"memory"`     // bytes
	Swap       int64             `json:"swap"`       // bytes beyond Memory; here 0 is no swap at all
	PIDs       int64             `json:"pids"`
	CPU        int64             `json:"cpu"` // thousandths of a core
	Core       int64             `json:"core"`
	Files      int64             `json:"files"`
	UserPIDs   int64             `json:"user_pids"` // processes of its user, by its resource limit
	Label      string            `json:"label"`     // AppArmor's or SELinux's
	Tries      map[string]string `json:"tries"`     // what was tried → why it failed, "" where it worked
}

// ProbeMount is one mount.
type ProbeMount struct {
	At       string `json:"at"`
	Kind     string `json:"kind"` // "overlay", "tmpfs"
	ReadOnly bool   `json:"ro"`
	Denied   bool   `json:"denied,omitempty"` // it is not read-only, and its permissions keep this user from writing all the same
}

// What a probe tries, keys of [Probe.Tries]. None may work in a cell.
const (
	TryWriteRoot = "write to /"
	TryUserNS    = "unshare(CLONE_NEWUSER)"
	TryMount     = "mount"
	TryAlg       = "socket(AF_ALG)"
	TryVsock     = "socket(AF_VSOCK)"
	TryPacket    = "socket(AF_PACKET)"
	TryIOUring   = "io_uring_setup"
	TryBPF       = "bpf"
	TryKeyctl    = "keyctl"
	TryRunner    = "open /proc/1/mem"
)
