package carillon.client;

import java.lang.reflect.Type;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** Reads payloads as what handlers take. */
final class Payloads {

  private Payloads() {}

  /** Throws what no retry would change, so that nobody tries it again and again. */
  @SuppressWarnings("NullAway") // a payload that is null is given as null
  static Object read(JsonMapper mapper, TaskContext context, Type type) {
    try {
      return mapper
          .readerFor(mapper.constructType(type))
          .readValue(mapper.treeAsTokens(context.payload()));
    } catch (JacksonException e) {
      throw new DeadTask(
          "the payload cannot be read as " + type.getTypeName() + ": " + e.getOriginalMessage(), e);
    }
  }
}
