package dibs_test

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

// curl makes a request as the program of that name would, and compares the answer with
// what a block of the page shows. Without one it must be good.
func (p *webPage) curl(args []string, block string) {
	p.Helper()
	p.ran++
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(p.request(args))
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	kind, shown, _ := strings.Cut(block, "\n")
	switch kind {
	case "http":
		head, body, _ := strings.Cut(shown, "\n\n")
		err = compareHead(head, response)
		if err == nil {
			err = compareJSON(body, response.Body)
		}
	case "text":
		err = compareLines(shown, response.Body)
	case "json":
		err = compareJSON(shown, response.Body)
		fallthrough
	default:
		if response.StatusCode >= http.StatusBadRequest {
			err = fmt.Errorf("it is answered by %s", response.Status)
		}
	}
	if err != nil {
		p.Errorf("curl %q: %v", args, err)
	}
}

// request is what the arguments of curl mean.
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

// compareHead compares the status, and those headers that are shown.
func compareHead(shown string, response *http.Response) error {
	status, headers, _ := strings.Cut(shown, "\n")
	if got := response.Proto + " " + response.Status; got != status {
		return fmt.Errorf("it is answered by %s, the page says %s", got, status)
	}
	for line := range strings.Lines(headers) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if got := response.Header.Get(name); got != want {
			return fmt.Errorf("%s is %q, the page says %q", name, got, want)
		}
	}
	return nil
}

// compareLines compares the first lines of what may be endless. Behind … anything goes.
func compareLines(shown string, body io.Reader) error {
	lines := bufio.NewScanner(body)
	for want := range strings.Lines(strings.TrimSpace(shown)) {
		if !lines.Scan() {
			return fmt.Errorf("there is no more, the page goes on with %s", want)
		}
		if err := compareText(strings.TrimSpace(want), lines.Text()); err != nil {
			return err
		}
	}
	return nil
}

// compareJSON compares what is shown of a document. It may have more members.
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

// compareText compares two texts: any time is as good as another, and behind … anything
// goes.
func compareText(want, got string) error {
	if isTime(want) && isTime(got) {
		return nil
	}
	begin, cut := strings.CutSuffix(want, "…")
	if got == want || cut && strings.HasPrefix(got, begin) && got != begin {
		return nil
	}
	return fmt.Errorf("it is %q, the page says %q", got, want)
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}
