package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/engine"
)

// targetFlags are the flags that set the target.
type targetFlags struct {
	store, config, server, key string
	ca, cert, certKey          string // for the server; files
}

func (f *targetFlags) add(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&f.store, "store", "", "open this `engine`: sqlite:dibs.db (or DIBS_STORE)")
	flags.StringVar(&f.config, "config", "", "the `file` with the policies of --store (or DIBS_CONFIG)")
	flags.StringVar(&f.server, "server", "", "call the server at this `url` (or DIBS_SERVER)")
	flags.StringVar(&f.key, "key", "", "the `key` for the server; other users may see a flag: better set DIBS_KEY or DIBS_KEY_FILE")
	flags.StringVar(&f.ca, "ca", "", "trust the authorities in this `pem` file (or DIBS_CA)")
	flags.StringVar(&f.cert, "cert", "", "use the client certificate in this `pem` file (or DIBS_CERT)")
	flags.StringVar(&f.certKey, "cert-key", "", "the `pem` file with the key of --cert, if it is not in the same file (or DIBS_CERT_KEY)")
}

// target returns the target. Flags win over the environment.
func (s *session) target() (Target, error) {
	f := s.flags
	if f.store == "" && f.server == "" {
		var err error
		if f.store, err = s.secret("DIBS_STORE"); err != nil {
			return Target{}, err
		}
		f.server = s.Getenv("DIBS_SERVER")
		if f.store != "" && f.server != "" {
			return Target{}, usage("DIBS_STORE and DIBS_SERVER are both set: unset one of them, or use --store or --server")
		}
	}
	switch {
	case f.store != "" && f.server != "":
		return Target{}, usage("--store and --server exclude each other: use one of them")
	case f.store != "":
		return Target{Store: f.store, Config: cmp.Or(f.config, s.Getenv("DIBS_CONFIG"))}, nil
	case f.server != "":
		if f.config != "" {
			return Target{}, usage("--config is only for --store: a server has its own policies")
		}
		var err error
		if f.key == "" {
			f.key, err = s.secret("DIBS_KEY")
		}
		return Target{
			Server: f.server, Key: f.key, CA: cmp.Or(f.ca, s.Getenv("DIBS_CA")),
			Cert: cmp.Or(f.cert, s.Getenv("DIBS_CERT")), CertKey: cmp.Or(f.certKey, s.Getenv("DIBS_CERT_KEY")),
		}, err
	default:
		return Target{}, usage("no store or server: use --store sqlite:dibs.db, or --server http://127.0.0.1:8080 " +
			"(or set DIBS_STORE or DIBS_SERVER)")
	}
}

// storeTarget returns the target of a command that needs the store itself.
func (s *session) storeTarget() (Target, error) {
	target, err := s.target()
	switch {
	case err != nil:
	case target.Server != "":
		err = usage("this command needs the store itself: use --store")
	default:
		if wrong := engine.Check(target.Store); wrong != nil {
			err = usage("%w", wrong)
		}
	}
	return target, err
}

// secret returns a variable, or the content of the file that its _FILE twin names.
func (s *session) secret(name string) (string, error) {
	if value := s.Getenv(name); value != "" {
		return value, nil
	}
	path := s.Getenv(name + "_FILE")
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	return strings.TrimSpace(string(data)), nil
}
