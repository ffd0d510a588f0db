package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read, in bytes. The supervisor sends none that is longer.
const maxLine = 8 << 20

// wall is the two directions of the protocol: one JSON object a line.
type wall struct {
	in  *bufio.Scanner
	out *json.Encoder
}

type request struct {
	Type      string    `json:"type"`
	Arguments arguments `json:"arguments"`
}

type arguments struct {
	Text string `json:"text"`
	Top  *int   `json:"top"`
}

type ready struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`
}

type event struct {
	Type string   `json:"type"`
	Kind string   `json:"kind"`
	Data progress `json:"data"`
}

type progress struct {
	Pct     int    `json:"pct"`
	Message string `json:"message"`
}

type result struct {
	Type      string  `json:"type"`
	Success   bool    `json:"success"`
	Data      *counts `json:"data,omitempty"`
	Summary   string  `json:"summary,omitempty"`
	Error     string  `json:"error,omitempty"`
	ErrorCode string  `json:"error_code,omitempty"`
}

// run is the whole life of the cell: say that it is up, wait for the request, work, answer, and stay until the supervisor
// has the answer. Output that a program writes just before it exits can be lost on its way through an engine.
func run(stdin io.Reader, stdout io.Writer) error {
	w := wall{in: bufio.NewScanner(stdin), out: json.NewEncoder(stdout)}
	w.in.Buffer(nil, maxLine)
	if err := w.out.Encode(ready{Type: "cell/ready", Protocol: 1}); err != nil {
		return err
	}
	line, err := w.await("skill/call/req")
	if err != nil {
		return err
	}
	if err := w.out.Encode(answer(line, w.progress)); err != nil {
		return err
	}
	if _, err := w.await("cell/done"); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// await returns the next line of a type. It passes over all others, so that a newer supervisor can say more. The end of
// the input is io.EOF: the supervisor is gone.
func (w wall) await(kind string) ([]byte, error) {
	for w.in.Scan() {
		var head struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(w.in.Bytes(), &head) == nil && head.Type == kind {
			return w.in.Bytes(), nil
		}
	}
	if err := w.in.Err(); err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return nil, fmt.Errorf("no %s: %w", kind, io.EOF)
}

func (w wall) progress(pct int, message string) {
	// A supervisor that is gone is noticed when the result is written.
	_ = w.out.Encode(event{Type: "skill/event", Kind: "progress", Data: progress{Pct: pct, Message: message}})
}

func answer(line []byte, tell func(pct int, message string)) result {
	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		return result{Type: "skill/result", Error: "arguments: " + err.Error(), ErrorCode: "bad_arguments"}
	}
	top := 5
	if req.Arguments.Top != nil {
		top = *req.Arguments.Top
	}
	c := count(req.Arguments.Text, top, tell)
	summary := fmt.Sprintf("%d words in %d lines", c.Words, c.Lines)
	return result{Type: "skill/result", Success: true, Data: &c, Summary: summary}
}
