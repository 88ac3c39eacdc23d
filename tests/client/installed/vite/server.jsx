import { renderToString } from "react-dom/server";
import Session from "../session.jsx";

console.log(renderToString(<Session api="http://api.test" />));
