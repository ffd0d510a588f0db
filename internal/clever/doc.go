// Package clever has the words of the CleverAgents skill protocol: its five types, which never change once they are made,
// and the mapping of errors. It knows no skill of hotcell's; projections are made elsewhere.
package clever
