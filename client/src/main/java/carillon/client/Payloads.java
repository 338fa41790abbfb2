package carillon.client;

import java.lang.reflect.Type;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** Reads payloads as the types of handlers. */
final class Payloads {

  private Payloads() {}

  /** Throws {@link DeadTask} if it cannot: no retry would help. */
  @SuppressWarnings("NullAway") // a null payload is passed as null
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
