package catalog

import (
	"errors"
	"time"
)

// What a store of custom skills answers when it does not do what was asked.
var (
	ErrNone  = errors.New("there is none")
	ErrStale = errors.New("it has changed meanwhile")
	ErrTaken = errors.New("the name is taken")
	ErrFull  = errors.New("there are as many as there may be")
)

// The kinds of principals.
const (
	KindUser  = "user"
	KindGroup = "group"
)

// Owner is a principal by its name.
type Owner struct{ Kind, Name string }

// Content is what a custom skill consists of.
type Content struct {
	Description, License, Compatibility string
	AllowedTools                        *string `json:",omitempty"`
	Metadata                            map[string]string
	Body                                string
	Files                               map[string]string // by path, without SKILL.md
}

// Record is a custom skill as it is kept.
type Record struct {
	ID, Principal        int64
	Name                 string
	Content              Content
	Provenance           string
	CreatedBy, UpdatedBy int64
	Created, Updated     time.Time
	HasPrevious          bool
	Revision             int64
}

// Label is a custom skill by its name.
type Label struct {
	ID, Revision int64
	Name         string
}

// Holding is a principal and the custom skills that it has, by name.
type Holding struct {
	ID     int64
	Owner  Owner
	Skills []Label
}
