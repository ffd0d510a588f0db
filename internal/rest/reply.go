package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// errorBody is every answer that is not a success.
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// fail answers with an error. The skills API has its codes in capitals.
func fail(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	if skillsAPI(r) {
		code = strings.ToUpper(code)
	}
	reply(w, status, errorBody{errorDetail{code, message}})
}

// data is the envelope of the skills API.
type data[T any] struct {
	Data T `json:"data"`
}

// give answers a request of the skills API.
func give[T any](w http.ResponseWriter, status int, value T) error {
	reply(w, status, data[T]{value})
	return nil
}

// encoded is a JSON body: characters are what they are, HTML's too.
func encoded(body any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(body)
	return buf.Bytes(), err
}

// reply writes a JSON body, whole or not at all.
func reply(w http.ResponseWriter, status int, body any) {
	b, err := encoded(body)
	if err != nil {
		status = http.StatusInternalServerError
		b = []byte(`{"error":{"code":"internal","message":"the answer cannot be written as JSON"}}` + "\n")
	}
	send(w, status, kindJSON, b)
}

func send(w http.ResponseWriter, status int, kind string, b []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client has gone: nobody is left to tell
}
