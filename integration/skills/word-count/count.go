package main

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

type counts struct {
	Words      int        `json:"words"`
	Lines      int        `json:"lines"`
	Characters int        `json:"characters"`
	Top        []frequent `json:"top"`
}

type frequent struct {
	Word  string `json:"word"`
	Count int    `json:"count"`
}

// count goes through the text in ten parts and tells after each how far it is. The most frequent words come first, equal
// ones in alphabetical order.
func count(text string, top int, tell func(pct int, message string)) counts {
	c := counts{Lines: lines(text), Characters: utf8.RuneCountInString(text), Top: []frequent{}}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
	c.Words = len(words)
	seen := map[string]int{}
	for part := range 10 {
		for _, word := range words[len(words)*part/10 : len(words)*(part+1)/10] {
			seen[strings.ToLower(word)]++
		}
		tell((part+1)*10, "Counting words")
	}
	for word, n := range seen {
		c.Top = append(c.Top, frequent{Word: word, Count: n})
	}
	slices.SortFunc(c.Top, func(a, b frequent) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	c.Top = c.Top[:min(max(top, 0), len(c.Top))]
	return c
}

func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
