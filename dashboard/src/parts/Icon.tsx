/** Lines on a grid of 16, drawn in the colour of the text. */
const paths = {
  overview: "M2 13V8M6 13V3M10 13V6M14 13V9",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.6 10.6 14 14",
  names: "M2 4h12M2 8h12M2 12h8",
  playground: "M4 2.5v11l9-5.5z",
  events: "M2 8h3l2-5 3 10 2-5h2",
  conflicts: "M2 2h4v4H2zM10 2h4v4h-4zM2 10h4v4H2zM10 10h4v4h-4z",
  suspects: "M8 2 1.5 13.5h13zM8 6.5v3.2M8 11.7v.1",
  webhooks: "M2 8h9M7.5 4.5 11 8l-3.5 3.5M14 3v10",
  keys: "M5.5 13a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM8 7l5.5-5.5M11 4l2 2",
  policies: "M3 2h10v12H3zM5.5 5.5h5M5.5 8h5M5.5 10.5h3",
  menu: "M2 4h12M2 8h12M2 12h12",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  help: "M6 6a2 2 0 1 1 2.8 1.8c-.5.3-.8.6-.8 1.4M8 11.6v.1M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Z",
  signout: "M6 2H2.5v12H6M6 8h8M11 5l3 3-3 3",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
