package dibsclient

import (
	"context"
	"errors"
	"fmt"
)

// bearer returns what shows the server who asks, and nothing where nobody has to. An error
// means that nothing was sent.
func (c *client) bearer(ctx context.Context, do call) (string, error) {
	if c.options.Token == nil {
		return c.options.Key, nil
	}
	token, err := c.options.Token(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: Options.Token has no token: %w", do.name, err)
	case token == "" || notVisible(token):
		return "", errors.New(do.name + ": Options.Token has returned a token that is empty, or not visible ASCII")
	}
	return token, nil
}
