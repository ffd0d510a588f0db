package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

const lookAgain = time.Second // at a call that runs

// callPages are the page of one call and what belongs to it.
func (c *Console) callPages() []page {
	one := Base + "/calls/{id}"
	return []page{
		{pattern: "GET " + one, scope: auth.Calls, serve: (*visit).call},
		{pattern: "GET " + one + "/live", scope: auth.Calls, serve: (*visit).liveCall},
		{pattern: "POST " + one + "/cancel", scope: auth.Calls, serve: (*visit).cancelCall},
		{pattern: "POST " + one + "/again", scope: auth.Calls, serve: (*visit).runAgain},
		{pattern: "GET " + one + "/result", scope: auth.Calls, serve: (*visit).result},
		{pattern: "GET " + one + "/files", scope: auth.Calls, serve: (*visit).listFiles},
		{pattern: "GET " + one + "/file", scope: auth.Calls, serve: (*visit).look},
		{pattern: "GET " + one + "/picture", scope: auth.Calls, serve: (*visit).picture},
		{pattern: "GET " + one + "/download", scope: auth.Calls, serve: (*visit).download},
	}
}

// call shows one call.
func (v *visit) call() error {
	id := v.r.PathValue("id")
	from := anyPage
	if text := v.query("from", 12); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return wrong("from: expected the number of an event, 0 or above.")
		}
		from = n
	}
	data, err := v.callView(v.ctx(), id, from, nil)
	if err != nil {
		return err
	}
	return v.render("call", "Call of "+data.Call.Skill, data)
}

// liveCall keeps the page of a call up to date until the call has ended.
func (v *visit) liveCall() error {
	id := v.r.PathValue("id")
	if _, _, err := v.calls().Show(v.ctx(), id); err != nil {
		return err
	}
	var before *callView
	return v.live(lookAgain, func(ctx context.Context) ([]piece, error) {
		data, err := v.callView(ctx, id, anyPage, before)
		if t := (*trouble)(nil); errors.As(err, &t) && t.status == http.StatusServiceUnavailable {
			return nil, nil // next time
		}
		if err != nil {
			return nil, err
		}
		before = data
		var pieces []piece
		for _, name := range []string{"state", "head", "actions", "why", "phases", "usage", "result", "files", "events", "policy"} {
			p, err := v.piece(name, "call", "call-"+name, data)
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, p)
		}
		if !data.Live {
			return pieces, errEnded
		}
		return pieces, nil
	})
}

func (v *visit) cancelCall() error {
	id := v.r.PathValue("id")
	if err := v.calls().Cancel(v.ctx(), id); err != nil {
		return err
	}
	return v.done(at("calls", id), "cancelling")
}

// runAgain starts a call with what another one was asked, for who visits.
func (v *visit) runAgain() error {
	id := v.r.PathValue("id")
	call, _, err := v.calls().Show(v.ctx(), id)
	if err != nil {
		return err
	}
	asked, err := v.o.Book.Request(v.ctx(), v.whose(), id)
	switch {
	case err != nil:
		return err
	case asked.Missing != "":
		return &trouble{status: http.StatusConflict, title: "It can't be run again", message: asked.Missing + "."}
	}
	req, err := repeated(call, asked)
	if err != nil {
		return err
	}
	who, err := v.who.As(call.Agent)
	if errors.Is(err, auth.ErrAgent) {
		return &trouble{status: http.StatusForbidden, title: "Not for this token", message: "The call was made for another agent than the one that this token speaks for."}
	}
	next, err := v.startAs(who, req)
	if err != nil {
		return err
	}
	return v.done(at("calls", next), "again")
}

// repeated is the request of a call, anew.
func repeated(call control.Call, asked *control.Request) (*a2e.CallRequest, error) {
	req := &a2e.CallRequest{Name: call.Skill, Arguments: map[string]any{}}
	if len(asked.Args) > 0 {
		dec := json.NewDecoder(bytes.NewReader(asked.Args))
		dec.UseNumber()
		if err := dec.Decode(&req.Arguments); err != nil {
			return nil, &trouble{status: http.StatusConflict, title: "It can't be run again", message: "The arguments that are kept of it are no JSON object."}
		}
	}
	if asked.Timeout > 0 {
		n := int((asked.Timeout + time.Second - 1) / time.Second)
		req.Timeout = &n
	}
	return req, nil
}

// result sends what a call gave as a file to be saved.
func (v *visit) result() error {
	leave, err := v.reading()
	if err != nil {
		return err
	}
	defer leave()
	_, answer, err := v.calls().Show(v.ctx(), v.r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case answer == nil || answer.Data == nil || answer.Data.Data == nil:
		return &trouble{status: http.StatusNotFound, title: "No result", message: "The call gave none, or has not ended yet."}
	}
	text, err := json.Marshal(answer.Data.Data)
	if err != nil {
		return err
	}
	v.asFile("application/json", "result.json")
	_, _ = v.w.Write(text)
	return nil
}

// listFiles shows the artifacts of a call on a page of their own, or as the part of the call's page.
func (v *visit) listFiles() error {
	call, _, err := v.calls().Show(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	leave, err := v.reading()
	if err != nil {
		return err
	}
	all, err := v.filesOf(v.ctx(), call.ID)
	leave()
	if err != nil {
		return err
	}
	data := &callView{Call: call, Files: all}
	if v.htmx() {
		return v.part("call", "call-files", data)
	}
	return v.render("files", "Files of a call", data)
}

// named is the address of an artifact below a call's page.
func named(id, what, name string) string {
	return at("calls", id, what) + "?name=" + url.QueryEscape(name)
}
