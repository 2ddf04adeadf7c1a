package docs_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// curl sends a request as the program of that name does and compares the answer with the
// block that the page shows. Without a block the status must be below 400.
func (p *webPage) curl(args []string, shown block) {
	p.Helper()
	p.ran++
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(p.request(args))
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	switch shown.kind {
	case "http":
		head, body, _ := strings.Cut(shown.body, "\n\n")
		err = compareHead(head, response)
		if err == nil {
			err = compareJSON(body, response.Body)
		}
	case "text":
		err = compareLines(shown.body, response.Body)
	case "json":
		err = compareJSON(shown.body, response.Body)
		fallthrough
	default:
		if response.StatusCode >= http.StatusBadRequest {
			err = fmt.Errorf("the status is %s", response.Status)
		}
	}
	if err != nil {
		p.Errorf("curl %q: %v", args, err)
	}
}

// request returns the request that the arguments of curl describe.
func (p *webPage) request(args []string) *http.Request {
	p.Helper()
	method, url, body, header := "", "", "", make(http.Header)
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; arg {
		case "-H":
			i++
			name, value, _ := strings.Cut(args[i], ": ")
			header.Set(name, value)
		case "-d":
			i++
			body = args[i]
		case "-X":
			i++
			method = args[i]
		case "-s", "-si", "-sN":
		default:
			url = strings.Replace(arg, "localhost:8080", p.url, 1)
		}
	}
	if method == "" && body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(p.Context(), method, url, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	request.Header = header
	return request
}

// compareHead compares the status and the headers that the page shows.
func compareHead(shown string, response *http.Response) error {
	status, headers, _ := strings.Cut(shown, "\n")
	if got := response.Proto + " " + response.Status; got != status {
		return fmt.Errorf("the status is %s, the page says %s", got, status)
	}
	for line := range strings.Lines(headers) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if got := response.Header.Get(name); got != want {
			return fmt.Errorf("%s is %q, the page says %q", name, got, want)
		}
	}
	return nil
}

// compareLines compares the lines that the page shows with the first lines of a body
// that may have no end.
func compareLines(shown string, body io.Reader) error {
	lines := bufio.NewScanner(body)
	for want := range strings.Lines(strings.TrimSpace(shown)) {
		if !lines.Scan() {
			return fmt.Errorf("the body ends, the page continues with %s", want)
		}
		if err := compareText(strings.TrimSpace(want), lines.Text()); err != nil {
			return err
		}
	}
	return nil
}

// compareJSON compares the members that the page shows. The body may have more.
func compareJSON(shown string, body io.Reader) error {
	var want, got any
	if err := json.Unmarshal([]byte(shown), &want); err != nil {
		return fmt.Errorf("the page's JSON: %w", err)
	}
	if err := json.NewDecoder(body).Decode(&got); err != nil {
		return err
	}
	return compareValue("answer", want, got)
}

func compareValue(where string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		members, _ := got.(map[string]any)
		for name, value := range w {
			if err := compareValue(where+"."+name, value, members[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		elements, _ := got.([]any)
		if len(elements) != len(w) {
			return fmt.Errorf("%s has %d elements, the page shows %d", where, len(elements), len(w))
		}
		for i, value := range w {
			if err := compareValue(where+"["+strconv.Itoa(i)+"]", value, elements[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		text, _ := got.(string)
		if err := compareText(w, text); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		return nil
	}
	if want != got {
		return fmt.Errorf("%s is %v, the page says %v", where, got, want)
	}
	return nil
}

// compareText compares two texts. All times are equal, and … at the end of want stands
// for any text.
func compareText(want, got string) error {
	if isTime(want) && isTime(got) {
		return nil
	}
	begin, cut := strings.CutSuffix(want, "…")
	if got == want || cut && strings.HasPrefix(got, begin) && got != begin {
		return nil
	}
	return fmt.Errorf("the text is %q, the page says %q", got, want)
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}
