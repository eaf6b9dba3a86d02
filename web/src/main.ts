import { mount } from "svelte";

import App from "./App.svelte";
import "./styles/tokens.css";
import "./styles/base.css";

const target = document.getElementById("app");
if (target) mount(App, { target });

if ("serviceWorker" in navigator && import.meta.env.PROD) {
  // Without it everything works but installation; plain HTTP from another machine has none.
  void navigator.serviceWorker.register("/sw.js").catch(() => undefined);
}
