package sandbox

import (
	"io/fs"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// The label keys. Everything that a driver makes outside the process carries them.
const (
	LabelManaged  = "hotcell.managed"  // "1"
	LabelInstance = "hotcell.instance" // the supervisor's id
	LabelHost     = "hotcell.host"     // the host's boot id
	LabelCall     = "hotcell.call"     // the call's id
	LabelSkill    = "hotcell.skill"    // the skill's name
	LabelExpires  = "hotcell.expires"  // Unix seconds: whoever owns it, it is garbage after this
	LabelKind     = "hotcell.kind"     // cell, fill, volume, instance
	LabelDigest   = "hotcell.digest"   // of a volume's content
	LabelPool     = "hotcell.pool"     // "1" on a cell that was started ahead of its call
	LabelTenant   = "hotcell.tenant"   // whose cell it is, where tenants are kept apart
)

// Spec says what a cell is. A driver reads it and never changes it.
//
// OCI carries process (args, env, cwd, user, rlimits, no-new-privileges, oom score), root (read-only), mounts (tmpfs
// only), hostname and linux (resources, seccomp, namespaces, masked and read-only paths). Its Root.Path is unused. The
// environment of the cell is exactly OCI.Process.Env: a driver removes what the image adds.
type Spec struct {
	Name    string            // unique, [a-z0-9-]; becomes the cell's name on the engine
	Labels  map[string]string // in addition to those that a driver sets
	Image   Image
	Trees   []Tree // read-only file trees
	OCI     *specs.Spec
	Runtime string // "" for the engine's default
	ShmSize int64  // bytes of /dev/shm

	// Tenant is whose cell it is, for drivers that keep the cells of tenants apart. "" is nobody's in particular.
	Tenant string `json:",omitempty"`

	// Key names all that decides what the cell runs and what it may do, and nothing of whose it is but the tenant: specs with
	// one key differ in name, labels and user id alone. "" is a cell that nobody may start ahead.
	Key string `json:"-"`
	// Line is whose what this is: of two specs of one line with different content the later one outdates the earlier, so that
	// none of the earlier waits any longer. "": the skill's name is.
	Line string `json:"-"`
	// Again returns one more spec with this key, for a cell that may wait for its call as long as wait, and what gives
	// back what that cell alone holds, such as its user id.
	Again func(wait time.Duration) (spec *Spec, release func(), err error) `json:"-"`
}

// Image is a pinned image and what a driver must neutralise in it.
type Image struct {
	ID      string   // the engine's content id, "sha256:..."; for drivers without an engine a path of a layout
	Env     []string // the image's own KEY=VALUE entries
	Volumes []string // the image's VOLUME paths; the spec masks each with a tmpfs mount

	// Ref and Digest are for drivers whose engines find images themselves, each node its own: the reference, and "repo@sha256:..."
	// where a registry has it.
	Ref    string `json:",omitempty"`
	Digest string `json:",omitempty"`
}

// The names of trees that hold skills, of which there are ever new ones.
const (
	TreeBundle = "bundle" // of a skill that is shipped
	TreeCustom = "custom" // of a principal's own, which changes often
)

// Tree is a read-only file tree that appears in the cell at Target. Digest names its content: a driver that has filled a
// volume with a digest need not read FS again. Files keep their permission bits, owned by root.
type Tree struct {
	Name   string // short word, [a-z0-9-]: TreeBundle, TreeCustom or another
	Digest string // lower-case hex sha-256 over names, modes and contents
	Target string
	FS     fs.FS
}
