// Package vault keeps secrets encrypted in a folder of hotcell's: each is a file of its own, for one identity, whose key lies
// beside them. It guards against backups, copies and careless looks; who can read all of the folder can read the secrets.
package vault
