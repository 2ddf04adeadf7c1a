package dibs_test

import (
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

var (
	kit    = dibs.Entity{Type: "product", ID: "101"}
	poster = dibs.Entity{Type: "product", ID: "102"}
)

// give gives an entity a name, for examples that need one.
func give(reg *dibs.Registry, value string, entity dibs.Entity) {
	_, err := reg.Claim(ctx, dibs.Claim{Namespace: "slug", Value: value, Entity: entity})
	check(err)
}

// show prints where names lead.
func show(reg *dibs.Registry, values ...string) {
	for _, value := range values {
		r, err := reg.Resolve(ctx, "slug", value)
		check(err)
		if r.To != nil {
			fmt.Println(value, r.Status, "to", r.To.Value)
			continue
		}
		fmt.Println(value, r.Status)
	}
}

func ExampleRegistry_Claim() {
	reg := open(dibs.Config{})
	defer reg.Close()

	name, err := reg.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "the-aurora-kit", Entity: kit})
	check(err)
	fmt.Println(name.State, name.Entity)
	// Output: active product/101
}

func ExampleRegistry_Import() {
	reg := open(dibs.Config{})
	defer reg.Close()

	since := time.Date(2020, 3, 1, 0, 0, 0, 0, time.UTC)
	_, err := reg.Import(ctx, dibs.Import{Namespace: "slug", Value: "the-aurora-kit", Entity: kit, Since: since})
	check(err)
	_, err = reg.Import(ctx, dibs.Import{Namespace: "slug", Value: "aurora-kit", AliasOf: "the-aurora-kit", Entity: kit})
	check(err)
	show(reg, "the-aurora-kit", "aurora-kit")
	holder, err := reg.WhoHeld(ctx, "slug", "the-aurora-kit", since.AddDate(1, 0, 0))
	check(err)
	fmt.Println(holder.Entity)
	// Output:
	// the-aurora-kit 200
	// aurora-kit 301 to the-aurora-kit
	// product/101
}

func ExampleRegistry_ImportAll() {
	reg := open(dibs.Config{})
	defer reg.Close()

	results, err := reg.ImportAll(ctx, dibs.ImportRequest{Imports: []dibs.Import{
		{Namespace: "slug", Value: "the-aurora-kit", Entity: kit},
		{Namespace: "slug", Value: "The Aurora Kit", Entity: dibs.Entity{Type: "product", ID: "102"}},
	}})
	check(err)
	for _, r := range results {
		if r.Err != nil {
			fmt.Println(r.Err.Code)
		} else {
			fmt.Println(r.Name.Entity)
		}
	}
	// Output:
	// product/101
	// NAME_TAKEN
}

func ExampleRegistry_Rename() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "aurora-flower-kit", kit)

	_, err := reg.Rename(ctx, dibs.Rename{Namespace: "slug", Entity: kit, Value: "the-aurora-kit"})
	check(err)
	show(reg, "the-aurora-kit", "aurora-flower-kit")
	// Output:
	// the-aurora-kit 200
	// aurora-flower-kit 301 to the-aurora-kit
}

// A rename with a payment: reserve the new name, pay, confirm it in place of the old one.
func ExampleConfirm_replace() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "aurora-flower-kit", kit)

	hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "the-aurora-kit", Entity: kit})
	check(err)
	_, err = reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: kit, Replace: true})
	check(err)
	show(reg, "aurora-flower-kit")
	// Output: aurora-flower-kit 301 to the-aurora-kit
}

func ExampleRegistry_Archive() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "the-aurora-kit", kit)

	_, err := reg.Archive(ctx, dibs.Archive{Entity: kit})
	check(err)
	show(reg, "the-aurora-kit")
	_, err = reg.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "the-aurora-kit", Entity: poster})
	fmt.Println(err)
	// Output:
	// the-aurora-kit 404
	// dibs: NAME_TAKEN: slug:the-aurora-kit is in use
}

func ExampleRegistry_Restore() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "the-aurora-kit", kit)
	_, err := reg.Archive(ctx, dibs.Archive{Entity: kit})
	check(err)

	_, err = reg.Restore(ctx, dibs.Restore{Entity: kit})
	check(err)
	show(reg, "the-aurora-kit")
	// Output: the-aurora-kit 200
}

func ExampleRegistry_Delete() {
	reg := open(dibs.Config{Policies: map[string]dibs.Policy{"slug": {Quarantine: 24 * hour}}})
	defer reg.Close()
	give(reg, "the-aurora-kit", kit)

	result, err := reg.Delete(ctx, dibs.Delete{Entity: kit})
	check(err)
	fmt.Println(result.Quarantined)
	show(reg, "the-aurora-kit")
	// Output:
	// [slug:the-aurora-kit]
	// the-aurora-kit 410
}

func ExampleRegistry_Decommission() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "aurora-flower-kit", kit)
	_, err := reg.Rename(ctx, dibs.Rename{Namespace: "slug", Entity: kit, Value: "the-aurora-kit"})
	check(err)

	_, err = reg.Decommission(ctx, dibs.Decommission{Namespace: "slug", Value: "aurora-flower-kit", Entity: kit})
	check(err)
	show(reg, "the-aurora-kit", "aurora-flower-kit")
	// Output:
	// the-aurora-kit 200
	// aurora-flower-kit 404
}

func ExampleRegistry_Transfer() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "the-aurora-kit", kit)

	name, err := reg.Transfer(ctx, dibs.Transfer{Namespace: "slug", Value: "the-aurora-kit", From: kit, To: poster})
	check(err)
	fmt.Println(name.Entity, "epoch", name.Epoch)
	// Output: product/102 epoch 2
}

func ExampleRegistry_Swap() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)
	give(reg, "summer", poster)

	result, err := reg.Swap(ctx, dibs.Swap{
		Namespace: "slug",
		A:         dibs.Named{Value: "spring", Entity: kit},
		B:         dibs.Named{Value: "summer", Entity: poster},
	})
	check(err)
	for _, n := range result.Names {
		fmt.Println(n.Value, n.Entity)
	}
	// Output:
	// spring product/102
	// summer product/101
}

func ExampleRegistry_Forget() {
	reg := open(dibs.Config{})
	defer reg.Close()
	alice := dibs.Entity{Type: "user", ID: "42"}
	give(reg, "alice", alice)

	forgotten, err := reg.Forget(ctx, dibs.ForgetRequest{Entity: alice})
	check(err)
	fmt.Println("erased", forgotten.Erased[0].Key())
	history, err := reg.History(ctx, "slug", "alice")
	check(err)
	for _, e := range history {
		fmt.Printf("%s %q %q\n", e.Kind, e.Value, e.Entity.ID)
	}
	// Output:
	// erased slug:alice
	// forgotten "" ""
}

func ExampleRegistry_Apply() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)

	// All or none: the old owner gives the name up, and the new one takes it.
	_, err := reg.Apply(ctx,
		dibs.Decommission{Namespace: "slug", Value: "spring", Entity: kit},
		dibs.Claim{Namespace: "slug", Value: "spring", Entity: poster},
		dibs.Claim{Namespace: "slug", Value: "winter", Entity: kit},
	)
	check(err)
	info, err := reg.Entity(ctx, "", poster)
	check(err)
	fmt.Println(info.Names[0].Value, info.Version)
	// Output: spring 1
}

func ExampleRegistry_DryRun() {
	reg := open(dibs.Config{})
	defer reg.Close()
	give(reg, "spring", kit)

	results, err := reg.DryRun(ctx, dibs.Delete{Entity: kit})
	check(err)
	fmt.Println("would free", results[0].Freed)
	show(reg, "spring")
	// Output:
	// would free [slug:spring]
	// spring 200
}
