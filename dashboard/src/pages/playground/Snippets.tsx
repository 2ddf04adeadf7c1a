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

/** A text in double quotes, as JSON, Go, TypeScript and Python write it. */
const quoted = (text: string) => JSON.stringify(text);

/** A text in single quotes for a shell. */
const shell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const snippets: Record<Language, (namespace: string, value: string) => string> = {
  curl: (namespace, value) => `curl -s ${location.origin}/v1/reservations \\
  -H 'Content-Type: application/json' \\
  -d ${shell(JSON.stringify({ namespace, value }))}`,
  go: (namespace, value) => `reg, err := dibsclient.Dial(${quoted(location.origin)}, dibsclient.Options{})
// …
hold, err := reg.Reserve(ctx, dibs.Reserve{
	Namespace: ${quoted(namespace)},
	Value:     ${quoted(value)},
})`,
  typescript: (namespace, value) => `import { Dibs } from "@calldibs/client";

const dibs = new Dibs(${quoted(location.origin)});
const hold = await dibs.reserve({
  namespace: ${quoted(namespace)},
  value: ${quoted(value)},
});`,
  python: (namespace, value) => `from calldibs import Dibs

dibs = Dibs(${quoted(location.origin)})
hold = dibs.reserve(${quoted(namespace)}, ${quoted(value)})`,
};
