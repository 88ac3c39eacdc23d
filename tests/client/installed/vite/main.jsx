/* The address's `api` says where the service is. */

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import Session from "../session.jsx";

const api = new URLSearchParams(location.search).get("api");
createRoot(document.querySelector("#root")).render(
  <StrictMode>
    <Session api={api} />
  </StrictMode>,
);
