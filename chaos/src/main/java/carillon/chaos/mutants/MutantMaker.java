package carillon.chaos.mutants;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.ConstantInstruction.LoadConstantInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Builds a mutant: writes the changed classes to a directory that precedes the server's jar on the
 * class path.
 */
public final class MutantMaker {

  private final Path jar;

  /**
   * @param jar the built server
   */
  public MutantMaker(Path jar) {
    this.jar = jar;
  }

  /**
   * Writes the changed classes.
   *
   * @throws IllegalStateException if the program does not contain what an edit replaces. The
   *     program has changed then, and the mutant needs to be revised.
   */
  public void make(Mutant mutant, Path into) throws IOException {
    Map<String, List<Edit>> byClass = new LinkedHashMap<>();
    for (Edit edit : mutant.edits()) {
      byClass.computeIfAbsent(edit.className(), _ -> new ArrayList<>()).add(edit);
    }
    Files.createDirectories(into);
    try (URLClassLoader server = new URLClassLoader(new URL[] {url(jar)}, null)) {
      ClassHierarchyResolver hierarchy =
          ClassHierarchyResolver.ofResourceParsing(server)
              .orElse(ClassHierarchyResolver.defaultResolver());
      ClassFile classFile = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(hierarchy));
      for (Map.Entry<String, List<Edit>> each : byClass.entrySet()) {
        byte[] bytes = read(server, each.getKey());
        for (Edit edit : each.getValue()) {
          bytes = apply(classFile, mutant.name(), edit, bytes);
          if (edit instanceof Edit.Call call) {
            copy(call.replacement(), into);
          }
        }
        write(into, each.getKey(), bytes);
      }
    }
  }

  private static URL url(Path path) throws IOException {
    URI uri = path.toAbsolutePath().toUri();
    return uri.toURL();
  }

  private static String file(String className) {
    return className.replace('.', '/') + ".class";
  }

  private static byte[] read(ClassLoader loader, String className) throws IOException {
    try (InputStream in = loader.getResourceAsStream(file(className))) {
      if (in == null) {
        throw new IllegalStateException("The program has no class " + className + ".");
      }
      return in.readAllBytes();
    }
  }

  private static void write(Path into, String className, byte[] bytes) throws IOException {
    Path file = into.resolve(file(className));
    Path directory = file.getParent();
    if (directory != null) {
      Files.createDirectories(directory);
    }
    Files.write(file, bytes);
  }

  private static void copy(Class<?> replacement, Path into) throws IOException {
    ClassLoader loader = replacement.getClassLoader();
    write(into, replacement.getName(), read(loader, replacement.getName()));
  }

  private static byte[] apply(ClassFile classFile, String mutant, Edit edit, byte[] bytes) {
    ClassModel model = classFile.parse(bytes);
    return switch (edit) {
      case Edit.Text text -> {
        expect(mutant, edit, count(model, text.from()), text.times());
        yield classFile.transformClass(
            model, in(_ -> true, code -> has(code, text), replaceText(text)));
      }
      case Edit.Call call -> {
        Predicate<MethodModel> where = method -> method.methodName().equalsString(call.in());
        expect(mutant, edit, count(model, where, call), call.times());
        yield classFile.transformClass(model, in(where, _ -> true, replaceCall(call)));
      }
    };
  }

  private static void expect(String mutant, Edit edit, int found, int expected) {
    if (found != expected) {
      throw new IllegalStateException(
          "%s: expected %d occurrences, found %d: %s".formatted(mutant, expected, found, edit));
    }
  }

  /** Transforms only the methods that contain something to replace. */
  private static ClassTransform in(
      Predicate<MethodModel> where, Predicate<CodeModel> what, CodeTransform change) {
    return ClassTransform.transformingMethodBodies(
        method -> where.test(method) && method.code().filter(what).isPresent(), change);
  }

  /** Occurrences of a text in the distinct string constants of a class. */
  private static int count(ClassModel model, String text) {
    Set<String> strings = new HashSet<>();
    model.methods().forEach(method -> method.code().ifPresent(code -> collect(code, strings)));
    return strings.stream().mapToInt(string -> occurrences(string, text)).sum();
  }

  private static void collect(CodeModel code, Set<String> strings) {
    for (CodeElement element : code) {
      if (element instanceof LoadConstantInstruction load
          && load.constantValue() instanceof String string) {
        strings.add(string);
      }
    }
  }

  private static int occurrences(String string, String text) {
    int count = 0;
    for (int at = string.indexOf(text); at >= 0; at = string.indexOf(text, at + text.length())) {
      count++;
    }
    return count;
  }

  private static boolean has(CodeModel code, Edit.Text text) {
    Set<String> strings = new HashSet<>();
    collect(code, strings);
    return strings.stream().anyMatch(string -> string.contains(text.from()));
  }

  private static CodeTransform replaceText(Edit.Text text) {
    return (builder, element) -> {
      if (element instanceof LoadConstantInstruction load
          && load.constantValue() instanceof String string
          && string.contains(text.from())) {
        builder.loadConstant(string.replace(text.from(), text.to()));
      } else {
        builder.with(element);
      }
    };
  }

  private static int count(ClassModel model, Predicate<MethodModel> where, Edit.Call call) {
    int count = 0;
    for (MethodModel method : model.methods()) {
      if (where.test(method) && method.code().isPresent()) {
        for (CodeElement element : method.code().get()) {
          count += isCall(element, call) ? 1 : 0;
        }
      }
    }
    return count;
  }

  private static boolean isCall(CodeElement element, Edit.Call call) {
    return element instanceof InvokeInstruction invoke
        && call.call()
            .equals(
                invoke.owner().asInternalName().replace('/', '.')
                    + "."
                    + invoke.name().stringValue());
  }

  private static CodeTransform replaceCall(Edit.Call call) {
    return (builder, element) -> {
      if (isCall(element, call) && element instanceof InvokeInstruction invoke) {
        builder.invokestatic(
            ClassDesc.of(call.replacement().getName()),
            invoke.name().stringValue(),
            replacementType(invoke));
      } else {
        builder.with(element);
      }
    };
  }

  /** The receiver is the first parameter, and all objects are passed as {@code Object}. */
  private static MethodTypeDesc replacementType(InvokeInstruction invoke) {
    List<ClassDesc> parameters = new ArrayList<>();
    if (invoke.opcode() != Opcode.INVOKESTATIC) {
      parameters.add(ConstantDescs.CD_Object);
    }
    for (ClassDesc each : invoke.typeSymbol().parameterList()) {
      parameters.add(each.isPrimitive() ? each : ConstantDescs.CD_Object);
    }
    return MethodTypeDesc.of(invoke.typeSymbol().returnType(), parameters);
  }
}
