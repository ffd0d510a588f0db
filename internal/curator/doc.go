// Package curator keeps the catalog: what principals own beside what is shipped, who may see it, and who may write it. It
// is the [catalog.Custom], the [catalog.Reader] and the [skills.Shelf] of a host.
//
// A custom skill lives in the store and belongs to one principal: a user, or a group whose members read it and whose admins
// and owners write it. Shipped skills come first: a custom one of the same name is never found. What a caller may not see
// does not exist for it. The package knows no SQL and no protocol.
package curator
