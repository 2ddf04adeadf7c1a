import { useState } from "preact/hooks";
import { Code } from "../../parts/Code";
import { Choice } from "../../parts/Choice";

type Language = "curl" | "go" | "typescript" | "python";

const languages: [Language, string][] = [["curl", "curl"], ["go", "Go"], ["typescript", "TypeScript"], ["python", "Python"]];

/** The reservation as code to copy. */
export function Snippets({ namespace, value }: { namespace: string; value: string }) {
  const [language, setLanguage] = useState<Language>("curl");
  const text = snippets[language](namespace, value);
  return (
    <div class="stack">
      <Choice label="Language" value={language} onChange={setLanguage} options={languages} />
      <Code text={text} label={`Reserve in ${language}`} />
    </div>
  );
}

/** The token of a hold is random, and chosen before the call: only then is the same call again safe. */
const tokenNote = "random, and saved before the call";

/** A text in double quotes, as JSON, Go, TypeScript and Python write it. */
const quoted = (text: string) => JSON.stringify(text);

/** A text in single quotes for a shell. */
const shell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const snippets: Record<Language, (namespace: string, value: string) => string> = {
  curl: (namespace, value) => `token=$(openssl rand -hex 20)   # ${tokenNote}
curl -s ${location.origin}/v1/reservations \\
  -H 'Content-Type: application/json' \\
  -d ${shell(JSON.stringify({ namespace, value, token: "TOKEN" })).replace(/TOKEN(?="}'$)/, `'"$token"'`)}`,
  go: (namespace, value) => `reg, err := dibsclient.Dial(${quoted(location.origin)}, dibsclient.Options{})
// …
token := dibs.NewToken() // ${tokenNote}
hold, err := reg.Reserve(ctx, dibs.Reserve{
	Namespace: ${quoted(namespace)},
	Value:     ${quoted(value)},
	Token:     token,
})`,
  typescript: (namespace, value) => `import { Dibs, newToken } from "@calldibs/client";

const dibs = new Dibs(${quoted(location.origin)});
const token = newToken(); // ${tokenNote}
const hold = await dibs.reserve({
  namespace: ${quoted(namespace)},
  value: ${quoted(value)},
  token,
});`,
  python: (namespace, value) => `from calldibs import Dibs, new_token

dibs = Dibs(${quoted(location.origin)})
token = new_token()  # ${tokenNote}
hold = dibs.reserve(${quoted(namespace)}, ${quoted(value)}, token=token)`,
};
