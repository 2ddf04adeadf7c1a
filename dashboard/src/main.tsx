import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/parts.css";
import { render } from "preact";
import { App } from "./app/App";
import { loadSession } from "./data/session";

void loadSession();

const root = document.getElementById("app");
if (root) render(<App />, root);
