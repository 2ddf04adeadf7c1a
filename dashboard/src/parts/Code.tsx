import { useEffect, useState } from "preact/hooks";

/** Code to read and to copy. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <pre tabIndex={0} role="region" aria-label={label}>{text}</pre>
      <CopyButton text={text} />
    </div>
  );
}

/** Copies a text, and says so for a moment. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => navigator.clipboard?.writeText(text).then(() => setCopied(true));
  return <button type="button" class="button small" onClick={copy}>{copied ? "Copied" : label}</button>;
}
